"""Files that survive a crash; page w2 explains them."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a crash, sees the old one or the new one,
    never a part. Where the disk refuses, OSError says so and the old one stays.

    A new file keeps the mode of the old one; behind a link, it replaces the target.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    except OSError as error:
        raise OSError(
            f"{path}: could not be written ({error.strerror or error}); what stood there is untouched, make room or name another folder"
        ) from error
    finally:
        with suppress(OSError):  # so that the first error is the one that is seen
            part.unlink(missing_ok=True)
