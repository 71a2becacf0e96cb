"""Every tool on every sample: what is right of what it says, and what it leaves changed."""

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
Each tool on each model of `sample_models/`, in a process of its own, with the tool's defaults.
What is right is worked out by hand: parameters (all and trainable), calls and shapes stand in
each sample's EXPECTED, mult-adds in `benchmarks/truth.py`. *Calls*, *inputs*, *outputs*: of how
many of the calls that happen there is a row, and how many rows show every tensor that went in, or
came out. The model is in the middle of a training: train mode with one part in eval mode, and
gradients. *Changed* is what a comparison before and after finds to differ, with how many of them:
training flags, parameters, buffers, gradients, hooks, attributes, functions of torch, states of
the generators, grad mode."""


def measure(samples: tuple[str, ...] = tuple(sorted(MACS))) -> Section:
    pairs = [(tool, sample) for sample in samples for tool in TOOLS]
    with ThreadPoolExecutor(2) as pool:  # nothing is timed here
        found = list(pool.map(lambda pair: examine(*pair), pairs))
    rows = tuple(row(sample, tool, said) for (tool, sample), said in zip(pairs, found, strict=True))
    header = ("sample", "tool", "parameters", "calls", "inputs", "outputs", "mult-adds", "changed")
    return Section("What is right", HOW, (Table(header, rows, numbers=False),))


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
            changed or ("nothing: another process" if own_process else "nothing"))  # fmt: skip
