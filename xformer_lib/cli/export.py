"""``xformer export``: write a model for another engine."""

from argparse import Namespace
from pathlib import Path

from xformer_lib.cli.models import chosen_model, name_model

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Write the folder, say what is in it, and return the exit status."""
    from xformer_lib.export.folder import export_model

    folder, out = chosen_model(options.model), Path(options.out)
    export_model(folder, options.format, out)
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path}")
    name_model(options, folder)
    return 0
