"""Runs commands on the CPU and on a GPU, and tells where they end differently.

`python -m benchmarks.gpu.commands [--device cuda] [--jobs 8] [names]` takes every model of
`sample_models/` and the ordinary models of the detection page.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("grads", "check")


def models():
    """Return the paths of all models."""
    folders = (ROOT / "sample_models", ROOT / "benchmarks/proof/detection/bases")
    return sorted(p for folder in folders for p in folder.glob("[a-z]*.py"))


def run(command, path, device):
    """Return the status, the shapes of the outputs by call, and the end of the errors."""
    done = subprocess.run(
        [sys.executable, "-m", "hookcli", command, str(path), "--device", device, "-f", "json"],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return done.returncode, None, [], done.stderr[-300:]
    shapes = [(one["name"], [o["shape"] for o in one["outputs"]]) for one in report["layers"]]
    failed = sorted({c["rule"] for c in report["checks"] if c["status"] == "fail"})
    error = report["error"] and report["error"]["message"]
    return done.returncode, shapes, failed, error or done.stderr[-300:]


def compare(work):
    """Return the name of a run and how its ends differ; "" if they do not."""
    command, path, device = work
    name = f"{command} {path.relative_to(ROOT)}"
    here, there = run(command, path, "cpu"), run(command, path, device)
    if here[:3] == there[:3]:
        return name, ""
    what = "shapes" if here[0] == there[0] and here[2] == there[2] else "end"
    return name, f"{what}: {here[0]} {here[2]} -> {there[0]} {there[2]}: {there[3]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    chosen = [p for p in models() if not options.names or p.stem in options.names]
    work = [(command, path, options.device) for path in chosen for command in COMMANDS]
    with ThreadPoolExecutor(options.jobs) as pool:
        found = dict(pool.map(compare, work))
    for name, what in found.items():
        if what:
            print(f"{name}: {what}")
    print(f"{len(found)} commands, {sum(map(bool, found.values()))} end differently")


if __name__ == "__main__":
    main()
