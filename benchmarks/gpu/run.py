"""What `hookcli run` costs and changes on a GPU, in alternating runs of the same script.

`python -m benchmarks.gpu.run [--rounds 3] [--steps 320] [--json F]`
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(Path(__file__).with_name("training.py"))
OWN = (sys.executable, "-m", "hookcli", "run", "-q")
KINDS = {
    "python": (sys.executable,),
    "hookcli run": OWN,
    "--steps 0": (*OWN, "--steps", "0"),
}
TRAININGS = (("cnn", "fp32"), ("gpt", "bf16"), ("gpt-fused", "fp16"))


def once(start, *arguments, report=None):
    """Run the script once; return what it tells, and the end of its errors."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "told.json")
        output = () if report is None else ("-o", str(report))
        environment = {**os.environ, "BENCH_TIMES": str(told), "PYTHONPATH": str(ROOT)}
        command = [*start, *(output if "run" in start else ()), SCRIPT, *arguments]
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
        found = json.loads(told.read_text()) if told.exists() else None
        return found, (done.stderr or done.stdout)[-1500:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=320)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="+", help="kinds of trainings")
    options = parser.parse_args()
    result = {}
    for kind, precision in TRAININGS[:2]:  # a GradScaler waits itself
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "run.json")
            found, errors = once(
                KINDS["hookcli run"], kind, precision, "99", "strict", report=report
            )
            waits = found is None
            detached = None
            if report.exists():
                detached = json.loads(report.read_text())["tracking"]["detached"]
            print(
                f"{kind} {precision}, no wait allowed: {waits=} {detached=} {errors=}", flush=True
            )
            result[f"{kind} {precision} strict"] = {"waits": waits, "detached": detached}
    for kind, precision in TRAININGS:
        if options.only and kind not in options.only:
            continue
        runs = {name: [] for name in KINDS}
        for _ in range(options.rounds):
            for name, start in KINDS.items():
                found, errors = once(start, kind, precision, str(options.steps))
                if found is None:
                    print(f"{kind} {precision} {name}: {errors}", flush=True)
                    continue
                runs[name].append(found)
        if not all(runs.values()):
            continue
        plain = runs["python"]
        figures = {
            "step_ms": median(one["step"] for one in plain) * 1e3,
            "losses_equal": {
                name: all(one["losses"] == plain[0]["losses"] for one in them)
                for name, them in runs.items()
            },
            "time": {
                name: median(
                    one["step"] / base["step"] for one, base in zip(them, plain, strict=False)
                )
                for name, them in runs.items()
            },
            "memory": {name: them[0]["peak"] / plain[0]["peak"] for name, them in runs.items()},
        }
        result[f"{kind} {precision}"] = figures
        print(kind, precision, json.dumps(figures), flush=True)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
