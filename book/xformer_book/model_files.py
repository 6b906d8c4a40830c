"""The translators' files as scripts, so that a page can load them even from a folder, where browsers refuse ``fetch``.

Each part of about a megabyte is one script whose string carries one byte a character; read as windows-1252, which gives
every byte a character of its own, nothing is lost. ``list.js`` has the sizes and a CRC-32 of each part. The figures'
``loader.js`` reads them, and no page loads them before a click.
"""

import json
import re
import zlib
from pathlib import Path

MODELS = Path(__file__).resolve().parents[2] / "xformer_lib" / "pretrained"
DIRECTIONS = ("en-fr", "fr-en")
NAMES = ("config.json", "tokenizer.json", "words.txt", "model.safetensors")
PART_SIZE = 1_000_000
# What may not stand in a string as it is. A digit behind \0 would make it another number.
ESCAPES = ((b"\\", rb"\\"), (b'"', rb"\""), (b"\r", rb"\r"), (b"\n", rb"\n"))
NUL_BEFORE_DIGIT = re.compile(rb"\0(?=[0-9])")


def as_script(data):
    """A script that hands ``data`` to the function of ``loader.js``."""
    for byte, escape in ESCAPES:
        data = data.replace(byte, escape)
    data = NUL_BEFORE_DIGIT.sub(rb"\\x00", data).replace(b"\0", rb"\0")
    return b'receiveFile("' + data + b'");\n'


def write_parts(folder, contents, part_size=PART_SIZE):
    """Write files, bytes by name, as scripts, and ``list.js`` last; a folder is complete when it is there. Returns the bytes written."""
    data, parts, written = b"".join(contents.values()), [], 0
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, len(data), part_size)):
        piece = data[start : start + part_size]
        name = f"part-{number:02d}.js"
        written += (folder / name).write_bytes(as_script(piece))
        parts.append({"name": name, "bytes": len(piece), "crc32": zlib.crc32(piece)})
    files = [{"name": name, "bytes": len(content)} for name, content in contents.items()]
    text = json.dumps({"files": files, "parts": parts}, separators=(",", ":"))
    return written + (folder / "list.js").write_bytes(f"receiveFile({text});\n".encode())


def write_files(folder, model, part_size=PART_SIZE):
    """One translator's files as scripts; returns the bytes written."""
    missing = [name for name in NAMES if not (model / name).is_file()]
    if missing:
        raise FileNotFoundError(f"{model}: expected {', '.join(NAMES)}, got no {missing[0]}; restore it from the repository")
    return write_parts(folder, {name: (model / name).read_bytes() for name in NAMES}, part_size)


def write_with_the_book(app, exception):
    if exception is None and app.builder.format == "html":
        for name in DIRECTIONS:
            write_files(Path(app.outdir) / "_static" / "translator" / name, MODELS / name)


def setup(app):
    app.connect("build-finished", write_with_the_book)
