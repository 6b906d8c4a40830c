"""``python -m xformer_lib``: the command ``xformer`` where its script is not on the path."""

import sys

from xformer_lib.cli import main

if __name__ == "__main__":
    sys.exit(main())
