"""`python -m tests.near`: run the tests that reach what changed since the last commit.

`--record [PATH ...]` runs all tests, or those of some paths, and notes which functions they reach.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.near import map as maps, marks
from tests.near.changes import changed_lines
from tests.near.choice import choose

CHOSEN = "HOOKCLI_TEST_CHOSEN"  # see chosen.py
RECORDS = marks.ROOT / "build" / "near" / "records"
_STARTS = 4.0  # seconds of tests from which on a second process is worth its start


def record(paths: list[str]) -> int:
    """Run tests on marked functions, and add what they reach to the map."""
    shutil.rmtree(RECORDS, ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "tests.near.recorder", *paths]
    status = subprocess.run(command, cwd=marks.ROOT).returncode
    if not RECORDS.exists():
        return status or 1
    lines = [line for file in RECORDS.iterdir() for line in file.read_text().splitlines()]
    made = maps.read().merged(map(json.loads, lines), marks.names())
    maps.write(made)
    size = maps.FILE.stat().st_size / 1e6
    print(f"{maps.FILE}: {len(made.tests)} functions, {len(made.seconds)} tests, {size:.1f} MB")
    return 0  # a test may fail on marked functions


def near(seconds: float) -> int:
    """Run the tests of what changed; 0 if there are none."""
    known = maps.read()
    tests = choose(marks.ROOT, changed_lines(marks.ROOT), known)
    if not tests:
        print("no test is known for what changed since the last commit")
        return 0
    spent, kept = 0.0, []
    for test in tests:  # what the map does not know runs until the time is over
        spent += known.seconds.get(test, 0.0)
        if spent > seconds:
            break
        kept.append(test)
    files = [*dict.fromkeys(test.partition("::")[0] for test in kept)]
    unknown = any(test not in known.seconds for test in kept)
    side_by_side = ["-n", "2"] if unknown or spent > _STARTS else ["-p", "no:xdist"]
    print(f"{len(kept)} of {len(tests)} tests, files and folders, in {len(files)} files")
    with tempfile.TemporaryDirectory(prefix="near") as folder:
        file = Path(folder) / "choice.json"
        file.write_text(json.dumps({"tests": kept, "until": time.time() + seconds}))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.near.chosen", *side_by_side]
        command += ["--maxfail", "10", *files]
        return subprocess.run(
            command, cwd=marks.ROOT, env={**os.environ, CHOSEN: str(file)}
        ).returncode


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(prog="python -m tests.near", description=__doc__)
    parser.add_argument("--record", nargs="*", metavar="PATH")
    parser.add_argument("--seconds", type=float, default=45, help="of tests, at most")
    options = parser.parse_args()
    return near(options.seconds) if options.record is None else record(options.record)


if __name__ == "__main__":
    sys.exit(main())
