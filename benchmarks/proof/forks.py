"""hookcli's command line in a fork of a process that has imported torch, for hundreds of runs."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.forked.client import server

ROOT = Path(__file__).resolve().parents[2]
_DROPPED = {"COLUMNS", "GITHUB_ACTIONS", "HOOKCLI_PYTHON"}


@dataclass(frozen=True)
class Ended:
    """How a command ended: its status, its report as JSON if it wrote one, and its error line."""

    status: int | None
    report: dict | None
    error: str


def run(*words, folder=ROOT, imports=(), timeout=300):
    """Run hookcli in a folder; the server that is forked has imported the modules `imports`."""
    env = {k: v for k, v in os.environ.items() if k not in _DROPPED}
    env |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    env["HOOKCLI_TEST_IMPORTS"] = " ".join(imports)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "report.json")
        command = [*words, "-f", "json", "-o", str(file)]
        try:
            forks = server(*sorted(env.items()))
            status, _, said = forks.run(command, Path(folder), env, None, timeout)
        except subprocess.TimeoutExpired:
            return Ended(None, None, f"no answer in {timeout} s")
        report = json.loads(file.read_text()) if file.exists() else None
    errors = [line for line in said.splitlines() if line.startswith("error:")]
    return Ended(status, report, (errors or [""])[-1])
