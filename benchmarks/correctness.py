"""Every tool on every sample: which of its numbers are correct, and what it changes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.section import Section, Table
from benchmarks.timing import ROOT, last_words
from benchmarks.truth import MACS

TOOLS = ("hookcli inspect", "hookcli.inspect", "torchinfo", "torchlens", "FlopCounterMode")
HOW = """\
Each tool inspects each model of `sample_models/`, in a separate process and with the tool's
defaults. The expected values are computed by hand: parameters (all and trainable), calls and shapes
are in each sample's EXPECTED, mult-adds in `benchmarks/truth.py`. *Calls* is the number of calls
that have a row, of all calls that happen. *Inputs* and *outputs* are the numbers of rows that show
every input tensor, or every output tensor. The model is in the middle of training: in train mode,
with one part in eval mode, and with gradients. *Changed* lists what differs after the tool has run,
with the number of differences: training flags, parameters, buffers, gradients, hooks, attributes,
functions of torch, states of the generators, grad mode."""


def measure(samples: tuple[str, ...] = tuple(sorted(MACS))) -> Section:
    pairs = [(tool, sample) for sample in samples for tool in TOOLS]
    with ThreadPoolExecutor(2) as pool:  # nothing is timed here
        found = list(pool.map(lambda pair: examine(*pair), pairs))
    rows = tuple(row(sample, tool, said) for (tool, sample), said in zip(pairs, found, strict=True))
    header = ("sample", "tool", "parameters", "calls", "inputs", "outputs", "mult-adds", "changed")
    return Section("Correctness", HOW, (Table(header, rows, numbers=False),))


def examine(tool: str, sample: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "said.json")
        command = [sys.executable, "-m", "benchmarks.examine", tool, sample, str(file)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
        print(f"  {sample}, {tool}", flush=True)
        if file.exists():
            return json.loads(file.read_text())
    error = f"status {done.returncode}: {last_words(done.stderr)}"
    return {"verdict": {}, "changed": {}, "error": error}


def row(sample: str, tool: str, said: dict[str, Any]) -> tuple[str, ...]:
    verdict = said["verdict"]
    cells = [
        verdict.get(key) or "–" for key in ("parameters", "calls", "inputs", "outputs", "macs")
    ]
    changed = ", ".join(
        kind if count == 1 else f"{kind} ({count})" for kind, count in said["changed"].items()
    )
    if said["error"] is not None:
        cells[0] = f"**raised** {said['error'][:80]}"
    own_process = tool == "hookcli inspect" and not changed
    return (sample, f"`{tool}`" if "hookcli" in tool else tool, *cells,
            changed or ("nothing (separate process)" if own_process else "nothing"))  # fmt: skip
