"""Compares figures of models on a GPU with hooks attached by hand.

`python -m benchmarks.gpu.truth [--device cuda] [--dtypes float32 bfloat16]` prints a line for each
model and dtype, and the sums.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch

import hookcli
from benchmarks.gpu.models import all_models

CONFIG = """\
hooks:
  - {kind: forward, at: "*", do: stats}
"""
RTOL = 1e-5
FIGURES = ("norm", "mean", "std", "abs_max")


def tensors(value):
    """Yield the tensors of an output, in the order of its parts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors(part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from tensors(part)


def figures(tensor):
    """Return the statistics of a tensor, computed in float64 on the CPU."""
    wide = tensor.detach().cpu().double()
    return {
        "norm": float(wide.norm()),
        "mean": float(wide.mean()),
        "std": float(wide.std()),
        "abs_max": float(wide.abs().max()),
    }


def loss_of(output):
    """Return the sum of all outputs, each element with a weight of its own."""
    total = 0.0
    for tensor in tensors(output):
        if tensor.requires_grad:
            weights = torch.arange(tensor.numel(), device=tensor.device).cos()
            total = total + (tensor.flatten().float() * weights).sum()
    return total


def by_hand(model, batch):
    """Return the outputs of each call, the gradients of parameters, and the root's output."""
    calls, handles = {}, []

    def keep(name):
        def hook(_module, _args, output):
            kept = [(list(t.shape), str(t.dtype)[6:], t.detach().clone()) for t in tensors(output)]
            calls.setdefault(name, []).append(kept)

        return hook

    for name, module in model.named_modules():
        handles.append(module.register_forward_hook(keep(name)))
    torch.manual_seed(0)
    output = model(batch)
    loss_of(output).backward()
    for handle in handles:
        handle.remove()
    grads = {n: p.grad.detach().clone() for n, p in model.named_parameters() if p.grad is not None}
    return calls, grads, [t.detach().clone() for t in tensors(output)]


def near(a, b, scale=1.0):
    """Return whether two figures agree."""
    return math.isclose(float(a), float(b), rel_tol=RTOL, abs_tol=RTOL * scale * 1e-2)


def wrong_rows(report, calls, grads):
    """Yield what differs, and count what was compared."""
    compared = 0
    for row in report["layers"]:
        if row["name"] is None:
            continue
        kept = calls[row["name"]][row["call"]]
        shown = [o for o in row["outputs"] if o.get("shape") is not None]
        for mine, (shape, dtype, _) in zip(shown, kept, strict=False):
            compared += 1
            if mine["shape"] != shape or mine["dtype"] != dtype:
                yield f"{row['name']}: {mine['shape']} {mine['dtype']}, by hand {shape} {dtype}"
    for event in report["events"]:
        if event["kind"] != "forward":
            continue
        kept = calls[event["target"]][event["call"]]
        values = [v for v in event["values"] if v.get("stats")]
        floating = [t for *_, t in kept if t.is_floating_point()]
        for mine, tensor in zip(values, floating, strict=False):
            truth = figures(tensor)
            for name in FIGURES:
                compared += 1
                if not near(mine["stats"][name], truth[name], truth["abs_max"]):
                    told = f"{mine['stats'][name]!r}, by hand {truth[name]!r}"
                    yield f"{event['target']}: {name} {told}"
    for row in report["parameters"]:
        grad = grads.get(row["name"])
        if row["shared_with"] or (grad is None) != (row["grad"] is None):
            if not row["shared_with"]:
                yield f"{row['name']}: gradient {row['grad']}, by hand {grad is not None}"
            continue
        if grad is None:
            continue
        truth = figures(grad)
        for name in FIGURES:
            compared += 1
            if not near(row["grad"][name], truth[name], truth["abs_max"]):
                yield f"{row['name']}.grad: {name} {row['grad'][name]!r}, by hand {truth[name]!r}"
    yield compared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    warnings.simplefilter("ignore")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "hooks.yaml")
        config.write_text(CONFIG)
        for name, model, batch in all_models():
            if options.names and name not in options.names:
                continue
            for dtype in options.dtypes:
                rows.append(compare(name, model, batch, dtype, options.device, config))
                print(rows[-1], flush=True)
    wrong = [row for row in rows if row["wrong"] or row["changed"]]
    print(
        f"{len(rows)} runs, {sum(row['compared'] for row in rows):,} figures, "
        f"{sum(len(row['wrong']) for row in rows)} wrong, {len(wrong)} runs with a difference"
    )
    if options.json:
        options.json.write_text(json.dumps(rows))
    sys.exit(bool(wrong))


def compare(name, model, batch, dtype, device, config):
    """Return what hookcli and plain PyTorch say of one model in one dtype."""
    kind = getattr(torch, dtype)
    # The backward of a recurrent layer requires train mode on a GPU; these have no dropout.
    mode = "train" if isinstance(model, torch.nn.RNNBase) else "eval"
    mine = copy.deepcopy(model).to(device, kind).train(mode == "train")
    batch = batch.to(device)
    batch = batch.to(kind) if batch.is_floating_point() else batch
    theirs = copy.deepcopy(mine)
    calls, grads, plain = by_hand(theirs, batch)
    begun = time.perf_counter()
    try:
        report = hookcli.grads(mine, batch, loss=loss_of, config=config, seed=0, mode=mode)
    except Exception as error:  # noqa: BLE001  # a line of the result
        return row(name, dtype, 0, [f"{type(error).__name__}: {error}"], False, 0.0)
    took = time.perf_counter() - begun
    told = json.loads(report.to_json())
    *wrong, compared = wrong_rows(told, calls, grads)
    after = list(tensors(mine(batch)))
    changed = any(not torch.equal(a, b) for a, b in zip(after, plain, strict=True))
    again = list(tensors(theirs(batch)))
    stable = all(torch.equal(a, b) for a, b in zip(again, plain, strict=True))
    return row(name, dtype, compared, wrong[:5], changed and stable, took)


def row(name, dtype, compared, wrong, changed, took):
    return {
        "model": name, "dtype": dtype, "compared": compared, "wrong": wrong, "changed": changed,
        "seconds": round(took, 2),
    }  # fmt: skip


if __name__ == "__main__":
    main()
