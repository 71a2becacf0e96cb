"""`python -m benchmarks.proof.sharded.faults [NAMES]`: ranks that part, and healthy trainings."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from benchmarks.proof.sharded import rank_faults
from benchmarks.proof.sharded.run import start_ranks

SCRIPT = str(Path(rank_faults.__file__))


def main() -> int:
    """Print what is said of each training, and the rates."""
    names = sys.argv[1:] or list(rank_faults.CASES)
    with tempfile.TemporaryDirectory() as folder:
        report = start_ranks([SCRIPT, *names], 2, Path(folder) / "run.json")
    found = accused = faults = 0
    for name, record in zip(names, report["records"], strict=True):
        case = rank_faults.CASES[name]
        rows = [row for row in record["checks"] if row["rule"] == "ranks_agree"]
        failed = [row for row in rows if row["status"] == "fail"]
        if not case.sign:
            accused += bool(failed)
            verdict = "ACCUSED" if failed else "ok"
        else:
            faults += 1
            right = [
                row
                for row in failed
                if f"rank {case.rank}" in row["message"]
                and (case.step is None or f"step {case.step}" in row["message"])
                and re.search(case.sign, row["message"])
            ]
            found += bool(right)
            verdict = "named" if right else "WRONG" if failed else "MISSED"
        print(f"{verdict:8} {name}: {'; '.join(row['message'] for row in rows)}")
    healthy = len(names) - faults
    print(f"{found} of {faults} faults are named, {accused} of {healthy} healthy ones accused")
    return int(bool(accused) or found < 0.9 * faults)


if __name__ == "__main__":
    sys.exit(main())
