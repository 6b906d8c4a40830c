"""``torchrun -m xformer_lib.cli``: the command ``xformer`` in several processes."""

import sys

from xformer_lib.cli import main

if __name__ == "__main__":
    sys.exit(main())
