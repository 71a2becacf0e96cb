"""`python -m benchmarks.examine TOOL SAMPLE FILE`: one tool on one sample, in its own process."""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from dataclasses import asdict
from pathlib import Path

import torch
import torch._dynamo  # it puts a wrapper around torch.manual_seed, whoever imports it

from benchmarks.judge import judge
from benchmarks.looks import LOOKS
from benchmarks.state import changes, state, unsettle
from benchmarks.truth import MACS


def first_names(model: torch.nn.Module) -> dict[str, str]:
    """Each name of a module → the first that `named_modules` gives it."""
    first = {id(module): name for name, module in model.named_modules()}
    return {name: first[id(module)] for name, module in model.named_modules(remove_duplicate=False)}


def examine(tool: str, sample: str) -> dict:
    """The verdict's cells, what changed, and the error where the tool raised."""
    module = importlib.import_module(f"sample_models.{sample}")
    torch.manual_seed(0)
    model = getattr(module, module.EXPECTED["type"])()
    batch = module.example_inputs()
    unsettle(model)
    before = state(model)
    error, verdict = None, {}
    try:
        said = LOOKS[tool](model, batch, sample)
        verdict = asdict(judge(said, module.EXPECTED, MACS[sample], first_names(model)))
    except Exception as raised:  # noqa: BLE001  # a crash is a result
        error = f"{type(raised).__name__}: {' '.join(str(raised).split())}"
    return {"verdict": verdict, "changed": changes(before, state(model)), "error": error}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    Path(sys.argv[3]).write_text(json.dumps(examine(sys.argv[1], sys.argv[2])))
