"""`python -m benchmarks.proof.sharded.blind.run [NAMES]`: each training in a run of its own.

Without names, those of the first list; `mistakes` stands for all of the second one.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.proof.sharded.blind import mistakes, trainings
from benchmarks.proof.sharded.blind.mistakes import MISTAKES
from benchmarks.proof.sharded.blind.trainings import TRAININGS, Training
from benchmarks.proof.sharded.run import start_ranks


def judged(training: Training, failed: Sequence[Mapping]) -> str:
    """Return what the findings of the rule about ranks are worth."""
    if not training.sign and training.step is None:
        return "ACCUSED" if failed else "ok"
    right = [
        row
        for row in failed
        if "rank 1" in row["message"]
        and (training.step is None or f"step {training.step}" in row["message"])
        and re.search(training.sign, row["message"])
    ]
    return "named" if right else "WRONG" if failed else "MISSED"


def main() -> int:
    """Print a line for each training, and the rates."""
    verdicts: list[str] = []
    names = list(MISTAKES) if sys.argv[1:] == ["mistakes"] else sys.argv[1:]
    for name in names or TRAININGS:
        training = MISTAKES.get(name) or TRAININGS[name]
        script = mistakes.__file__ if name in MISTAKES else trainings.__file__
        with tempfile.TemporaryDirectory() as folder:
            report = start_ranks([script, name], 2, Path(folder) / "run.json")
        rows = [row for record in report["records"] for row in record["checks"]]
        failed = [row for row in rows if row["status"] == "fail"]
        about = [row for row in failed if row["rule"] == "ranks_agree"]
        verdicts.append(judged(training, about))
        print(f"{verdicts[-1]:8} {name}", flush=True)
        for row in failed:
            print(f"         {row['rule']}: {row['message']}")
    named, healthy = verdicts.count("named"), verdicts.count("ok") + verdicts.count("ACCUSED")
    print(f"{named} of {len(verdicts) - healthy} faults are named, ", end="")
    print(f"{verdicts.count('ACCUSED')} of {healthy} healthy trainings accused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
