"""Build the HTML book: warnings are errors, notebooks are not run."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    began = time.perf_counter()
    log = ROOT / "_build" / "book.log"
    log.parent.mkdir(exist_ok=True)
    shutil.rmtree(ROOT / "_build" / "html", ignore_errors=True)  # no page of an earlier table of contents stays
    tool = str(Path(sys.executable).parent / "jupyter-book")
    command = [tool, "build", ".", "--all", "-W", "--keep-going", "--quiet", *sys.argv[1:]]
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    with log.open("w", encoding="utf-8") as file:
        status = subprocess.run(command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT).returncode
    if status:
        plain = re.sub(r"\x1b\[[\d;]*m", "", log.read_text(encoding="utf-8"))
        print(plain[-6000:])
        print(f"The book was not built: see the warnings above, or {log.relative_to(ROOT)}.")
        return status
    page = ROOT / "_build" / "html" / "index.html"
    print(f"The book lies at {page.as_uri()} ({time.perf_counter() - began:.0f} s); open it in a browser.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
