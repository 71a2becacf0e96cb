"""The entry point: signals first, so that nothing that follows can leave a worker behind."""

from __future__ import annotations

import gc
import sys

from hookcli.cli.main import guarded, leave


def main() -> None:
    """Run the command line and exit with its status."""
    gc.disable()  # a short life: collecting takes two thirds of the time to read a big report
    leave(guarded(sys.argv[1:]))


if __name__ == "__main__":
    main()
