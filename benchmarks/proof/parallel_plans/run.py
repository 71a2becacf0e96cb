"""`python -m benchmarks.proof.parallel_plans.run [--held-out] [WORD…]`: plans and their rates.

Each plan is a file that `hookcli diff` gets. A mutation is found if the exit status is 1, and named
if the module that it changed, or a parameter of it, is the first that the report names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.proof.parallel_plans.cases import Case, mutated, right
from benchmarks.proof.parallel_plans.held_out import held_out
from benchmarks.timing import HOOKCLI

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
AT_ONCE = 2


def compare(case: Case, folder: Path) -> tuple[str, tuple[str, ...], str]:
    """Return "equal", "named", "second", "other" or "error", the names, and the sentence."""
    stem = "".join(c if c.isalnum() else "_" for c in f"{case.model} {case.name}")
    plan, report = folder / f"{stem}.py", folder / f"{stem}.json"
    plan.write_text(case.source())
    model = str(HERE / "models" / f"{case.model}.py")
    b = f"{model}?parallel={plan}:apply&mesh={case.mesh}"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [HOOKCLI, "diff", model, b, "-f", f"json={report}", "--timeout", "120"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode not in {0, 1}:
        return "error", (), done.stderr
    data = json.loads(report.read_text())
    if done.returncode == 0:
        return "equal", (), ""
    names = tuple(data["parallel"]["named"])
    own = [n for n in names if n == case.truth or n.rpartition(".")[0] == case.truth]
    verdict = "named" if names and own and own[0] == names[0] else "second" if own else "other"
    return verdict, names, data["first"]["sentence"]


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--held-out"]
    every = held_out() if "--held-out" in sys.argv else (*right(), *mutated())
    cases = [
        c for c in every if not words or any(w in f"{c.model} {c.kind} {c.name}" for w in words)
    ]
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(AT_ONCE) as pool:
        folder = Path(name)
        for case, (verdict, names, sentence) in zip(
            cases, pool.map(lambda c: compare(c, folder), cases), strict=True
        ):
            counts[case.kind, verdict] += 1
            print(f"{verdict:7} {case.model} / {case.kind} / {case.name}: {', '.join(names[:3])}")
            print(f"        {sentence}", flush=True)
    for (kind, verdict), count in sorted(counts.items()):
        print(f"{kind:20} {verdict:8} {count}")


if __name__ == "__main__":
    main()
