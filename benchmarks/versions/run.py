"""`python -m benchmarks.versions.run [--only TORCH] [--part PART]`: tries each version of torch.

Environments are made in the folder that the variable VERSIONS names (~/.cache/hookcli-versions if
it is not set), or used as they are if they exist. The outcome of each part is saved there, and
docs/versions.md is written from all outcomes.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.versions import suite
from benchmarks.versions.environments import ROOT, VERSIONS, NotInstalledError, interpreter
from benchmarks.versions.page import page

PAGE = ROOT / "docs" / "versions.md"
FOLDER = Path(os.environ.get("VERSIONS") or Path.home() / ".cache" / "hookcli-versions")


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests with several versions of torch.")
    names = [version.torch for version in VERSIONS]
    parser.add_argument("--only", action="append", choices=names, help="only this torch")
    parser.add_argument("--part", action="append", choices=suite.PARTS, help="only these tests")
    parser.add_argument("-n", type=int, default=2, help="processes")
    parser.add_argument("--write", action="store_true", help="only write the page")
    given = parser.parse_args()
    failed = False
    for version in VERSIONS:
        if given.write or (given.only and version.torch not in given.only):
            continue
        print(f"torch {version.torch}, Python {version.python}:", flush=True)
        try:
            python = interpreter(FOLDER, version)
            outcome = suite.environment_of(python)
        except NotInstalledError as error:
            print(f"  {error}")
            failed = True
            continue
        earlier = suite.saved(FOLDER, version)
        if earlier is not None:
            outcome.parts = earlier.parts
        for name in given.part or suite.PARTS:
            part = outcome.parts[name] = suite.run_part(python, name, given.n)
            print(f"  {name}: {part.passed} passed, {len(part.failed)} failed", flush=True)
            for test in part.failed:
                print(f"    {test}", flush=True)
            failed = failed or bool(part.failed)
            suite.save(FOLDER, version, outcome)
    outcomes = {v: o for v in VERSIONS if (o := suite.saved(FOLDER, v)) is not None}
    PAGE.write_text(page(outcomes))
    print(PAGE)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
