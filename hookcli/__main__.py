"""The entry point of the command. Signals are handled first, so that no worker is left behind."""

from __future__ import annotations

import gc
import sys

from hookcli.cli.main import guarded, leave


def main() -> None:
    """Run the command line and exit with its status."""
    gc.disable()  # the process is short: collection takes two thirds of reading a big report
    leave(guarded(sys.argv[1:]))


if __name__ == "__main__":
    main()
