"""Where the models that come with the library lie; found without torch."""

from pathlib import Path

__all__ = ["SHIPPED", "model_folder"]

SHIPPED = Path(__file__).resolve().parent / "pretrained"


def model_folder(name: str | Path) -> Path:
    """Return the folder of a model: the path itself, or, where nothing lies there, that of the shipped model of this name."""
    names = {path.parent.name for path in SHIPPED.glob("*/model.safetensors")}
    return SHIPPED / name if str(name) in names and not Path(name).exists() else Path(name)
