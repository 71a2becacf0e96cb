"""`python -m benchmarks.proof.sharded.blind.run [NAMES]`: each training in a run of its own."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.proof.sharded.blind import trainings
from benchmarks.proof.sharded.blind.trainings import Training
from benchmarks.proof.sharded.run import start_ranks

SCRIPT = str(Path(trainings.__file__))


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
    for name in sys.argv[1:] or trainings.TRAININGS:
        with tempfile.TemporaryDirectory() as folder:
            report = start_ranks([SCRIPT, name], 2, Path(folder) / "run.json")
        rows = [row for record in report["records"] for row in record["checks"]]
        failed = [row for row in rows if row["status"] == "fail"]
        about = [row for row in failed if row["rule"] == "ranks_agree"]
        verdicts.append(judged(trainings.TRAININGS[name], about))
        print(f"{verdicts[-1]:8} {name}", flush=True)
        for row in failed:
            print(f"         {row['rule']}: {row['message']}")
    named, healthy = verdicts.count("named"), verdicts.count("ok") + verdicts.count("ACCUSED")
    print(f"{named} of {len(verdicts) - healthy} faults are named, ", end="")
    print(f"{verdicts.count('ACCUSED')} of {healthy} healthy trainings accused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
