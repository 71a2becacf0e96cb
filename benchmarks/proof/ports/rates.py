"""What `hookcli.diff` says of two implementations: unchanged, and with one planted fault.

`python -m benchmarks.proof.ports.rates [--blind] [--json FILE] [NAMES]` loads the weights of the
first model into the second through the map that hookcli infers, and compares them. The truth is
plain PyTorch: whether the outputs agree. Where they do, each fault that fits is planted into the
second model, and the first difference that is named is compared with its place.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
import warnings
from collections import Counter
from pathlib import Path

import torch

import hookcli
from benchmarks.proof.ports.blind_pairs import BLIND
from benchmarks.proof.ports.faults import FAULTS
from benchmarks.proof.ports.pairs import PAIRS
from hookcli.api.live_diff import _Live
from hookcli.comparison.ports.plan import port_settings
from hookcli.comparison.tolerance import Tolerances
from hookcli.engine.diff.mapped_weights import load_mapped_weights
from hookcli.models.nested import leaves
from hookcli.spec.request import ModelSpec, Spec

_FEW = 2  # places of a fault in one pair
_LARGE = 0.1  # standard deviation of weights, as that of trained models of this size


def built(pair):
    """Return both models, in eval mode, with parameters that are not all alike."""
    torch.manual_seed(0)
    a = pair.a().eval()
    torch.manual_seed(1)
    b = pair.b().eval()
    with torch.no_grad():
        for _, parameter in sorted(a.named_parameters()):
            if parameter.dim() < 2:  # norms and biases begin as ones and zeros
                parameter.add_(0.2 * torch.randn(parameter.shape))
            elif parameter.std() < _LARGE:  # so small that a layer changes nothing
                parameter.mul_(_LARGE / parameter.std().clamp(min=1e-3))
        for _, buffer in sorted(a.named_buffers()):
            if buffer.is_floating_point() and buffer.dim() == 1 and len(buffer) > 8:
                buffer.add_(0.1 * torch.rand(buffer.shape))
    return a, b


def loaded(a, b, batch):
    """Load A's weights into B. Return the settings of the comparison."""
    live = _Live(a, b, batch, Spec("inspect", ModelSpec("a.py")), None)
    settings = port_settings(
        live.run(0), live.run(1), None, own_weights=False, tolerances=Tolerances()
    )
    state = {**dict(a.named_parameters()), **dict(a.named_buffers())}
    load_mapped_weights(b, state, list(settings.made.values()))
    return settings


def outputs_agree(a, b, batch):
    """Return the least relative difference of an output of A and one of B of its size."""
    with torch.no_grad():
        ours, theirs = ([t for _, t, _ in leaves(model(batch))] for model in (a, b))
    found = [
        ((x.double().sort().values - y.double().sort().values).norm() / x.double().norm()).item()
        for x in (t.reshape(-1) for t in ours)
        for y in (t.reshape(-1) for t in theirs)
        if x.numel() == y.numel()
    ]
    return min(found, default=None)


def names_fault(diff, module):
    """Return "call", "stretch" or "": whether the first difference is at a module of B."""
    first = diff.first
    if first is None:
        return ""
    there = None if first.b is None else first.b.name
    if there == module:
        return "call"
    within = first.within or first.a
    partner = {match.a[-1]: match.b for match in diff.port.matches}
    rows = {row.b.order: row.b.name for row in diff.rows if row.b is not None}
    around = [rows.get(order) for order in partner.get(within.order, ())] if within else []
    if first.fault in {"code", "output"} and any(
        one is not None and (module == one or module.startswith(f"{one}.") or not one)
        for one in around
    ):
        return "stretch"
    return ""


def judged(pair):
    """Return the row of a pair without a fault, and those of its faults."""
    a, b = built(pair)
    batch = pair.batch()
    settings = loaded(a, b, batch)
    truth = outputs_agree(a, b, batch)
    began = time.perf_counter()
    diff = hookcli.diff(a, b, batch)
    row = {
        "pair": pair.name,
        "verdict": diff.verdict,
        "truth": truth,
        "missing": len(settings.missing),
        "unused": len(settings.unused),
        "sentence": None if diff.first is None else diff.first.sentence,
        "inside": [text for text in diff.warnings if "agree within tolerance, but" in text],
        "seconds": time.perf_counter() - began,
        "matched": len({order for match in diff.port.matches for order in match.a}),
        "calls": diff.a.calls,
    }
    faults = []
    differs_inside = any("agree within tolerance, but" in text for text in diff.warnings)
    if diff.verdict == "same" and not differs_inside:
        for fault in FAULTS:
            for module in fault.places(b)[:_FEW]:
                faults.append(planted(pair, fault, module))
    return row, faults


def planted(pair, fault, module):
    """Return the row of one fault at one module of B."""
    a, b = built(pair)
    batch = pair.batch()
    loaded(a, b, batch)
    undo = fault.plant(b.get_submodule(module))
    try:
        truth = outputs_agree(a, b, batch)
        diff = hookcli.diff(a, b, batch)
    finally:
        undo()
    return {
        "pair": pair.name,
        "fault": fault.name,
        "module": module,
        "truth": truth,
        "verdict": diff.verdict,
        "named": names_fault(diff, module),
        "sentence": None if diff.first is None else diff.first.sentence,
        "told": any("agree within tolerance, but" in warning for warning in diff.warnings),
    }


def main():
    """Print a line for each pair and fault, and the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json")
    parser.add_argument("--blind", action="store_true", help="pairs not used in development")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    rows, faults = [], []
    for pair in BLIND if given.blind else PAIRS:
        if given.names and not any(name in pair.name for name in given.names):
            continue
        if not pair.is_there:
            print(f"{pair.name}: {' or '.join(pair.needs)} is not installed")
            continue
        try:
            row, found = judged(pair)
        except Exception as error:
            print(f"{pair.name}: {type(error).__name__}: {error}"[:300], flush=True)
            continue
        rows.append(row)
        faults += found
        print(
            f"{pair.name}: {row['verdict']} (outputs {row['truth']}), {row['missing']} missing, "
            f"{row['unused']} unused, {row['matched']} of {row['calls']} calls, "
            f"{row['seconds']:.1f} s {row['sentence'] or ''}",
            flush=True,
        )
        for one in found:
            if not one["named"] and one["verdict"] == "different":
                print(f"    {one['fault']} at {one['module']}: {one['sentence']}", flush=True)
            if one["verdict"] == "same" and not one["told"]:
                print(
                    f"    {one['fault']} at {one['module']}: same (outputs {one['truth']})",
                    flush=True,
                )
    print(Counter(row["verdict"] for row in rows))
    seen = [one for one in faults if (one["truth"] or 0) > 1e-5 or one["verdict"] == "different"]
    print(len(seen), Counter(one["named"] or "missed" for one in seen))
    for name in dict.fromkeys(one["fault"] for one in seen):
        print(f"  {name}:", Counter(o["named"] or "missed" for o in seen if o["fault"] == name))
    if given.json:
        Path(given.json).write_text(json.dumps({"pairs": rows, "faults": faults}, indent=1))


if __name__ == "__main__":
    main()
