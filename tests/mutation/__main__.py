"""`python -m tests.mutation PART`: run the tests of a part on each change of its code."""

from __future__ import annotations

import argparse
import os
import sys
import warnings

from .campaign import Campaign
from .parts import PARTS


def main() -> int:
    """Run a campaign; 1 if a mutant survived that is not known to be equivalent."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--only", default="", metavar="TEXT", help="mutants whose key has TEXT")
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants, chosen at random")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--survivors", action="store_true", help="only those of the last time")
    parser.add_argument("--new", action="store_true", help="only those that were not tried yet")
    parser.add_argument("--tests", type=int, metavar="N", help="at most N tests for a mutant")
    parser.add_argument("--seconds", type=float, metavar="S", help="of tests for a mutant, at most")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes side by side")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    filters = [*warnings.filters]
    console = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    import pytest

    campaign = Campaign(PARTS[options.part], options, console, filters)
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "timeout=0"]
    arguments += ["--assert=plain"]  # pytest would rewrite functions of ours that have an assert
    arguments += ["--tb=no"]  # the text of a failure would take longer than most tests
    arguments += ["-o", "tmp_path_retention_policy=none", *PARTS[options.part].tests]
    status = pytest.main(arguments, plugins=[campaign])
    if not campaign.done:
        print(f"pytest ended with status {int(status)}", file=console)
        return 2
    return campaign.report()


if __name__ == "__main__":
    sys.exit(main())
