"""Measure a table of docs/comparison.md.

    python -m benchmarks.comparison shapes
    python -m benchmarks.comparison faults
    python -m benchmarks.comparison time

A tool that is not installed is left out, with a note. `python -m benchmarks.comparison faults -h`
shows how to run only some of the trainings or tools.
"""

from __future__ import annotations

import sys

from benchmarks.comparison import faults, shapes, step_time

TABLES = {"shapes": shapes.main, "faults": faults.main, "time": step_time.main}


def main() -> None:
    """Print the tables that the command line names, or all of them."""
    name, *arguments = sys.argv[1:] or [""]
    if name in TABLES:
        TABLES[name](arguments)
    elif name:
        print(__doc__)
    else:
        for table in TABLES.values():
            table([])


if __name__ == "__main__":
    main()
