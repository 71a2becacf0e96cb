"""Compares figures that compiled code writes with those of the same model without the compiler.

`python -m benchmarks.proof.compiled.rows [names] [--backend aot_eager|inductor] [--limit N]
[--markdown FILE] [--statistics]`. Each model runs two steps of SGD three times: compiled, compiled
with hooks that the compiler traces, and without the compiler with the same hooks. The first two
must have equal losses, gradients, graphs, graph breaks and recompilations, and the last two must
have the same layers with the same norms.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import multiprocessing
import os
import sys
import time
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.proof.cases import cases
from benchmarks.proof.forks import ROOT, run
from benchmarks.proof.small import SMALL, config_of

STEPS = 2
TIMEOUT = 240  # seconds for one model
RTOL = {"aot_eager": 1e-4, "inductor": 2e-3}
GROUPS = ("sample", "ordinary", "transformers", "foreign", "blind")


@dataclass
class Outcome:
    """What came of one model; `why` tells why it was not compared."""

    name: str
    why: str = ""
    layers: int = 0
    gradients: int = 0
    unseen: int = 0  # tensors of outputs that are other objects
    unknown: int = 0  # gradients that are not told
    worst: float = 0.0  # relative difference of a norm
    problems: list = field(default_factory=list)
    graphs: int = 0
    breaks: int = 0
    seconds: float = 0.0
    first_ratio: float = 0.0  # time of the first step with hooks to that without


def batch_of(name, case):
    """Return the arguments that hookcli infers for a model, as a tree, or those of `SMALL`."""
    if case.group == "transformers":
        inputs = SMALL[name].inputs
        return {"kwargs": {k: {"shape": s, "dtype": "int64" if h else "float32", "high": h or 2}
                           for k, s, h in inputs}}  # fmt: skip
    given = run("inspect", *case.words, folder=ROOT)
    if given.status != 0 or not given.report or not given.report.get("inputs"):
        raise ValueError(f"no batch: {given.error}")
    return {"args": given.report["inputs"]["args"], "kwargs": given.report["inputs"]["kwargs"]}


def made(tree):
    """Return seeded tensors for a tree of a report."""
    import torch

    if "shape" in tree:
        dtype = getattr(torch, tree["dtype"])
        shape = [size or 2 for size in tree["shape"]]
        if dtype is torch.bool:
            return torch.ones(shape, dtype=dtype)
        if not dtype.is_floating_point and not dtype.is_complex:
            return torch.randint(0, tree.get("high", 2), shape, dtype=dtype)
        return torch.randn(shape, dtype=dtype)
    for key in ("tuple", "list"):
        if key in tree:
            return (tuple if key == "tuple" else list)(made(one) for one in tree[key])
    if "dict" in tree:
        return {key: made(one) for key, one in tree["dict"].items()}
    value = tree.get("value")
    if value in {"None", "True", "False"}:
        return {"None": None, "True": True, "False": False}[value]
    return json.loads(value)


def build(case):
    """Return the model of a case."""
    import torch

    torch.manual_seed(0)
    if case.group == "transformers":
        import transformers

        one = SMALL[case.name]
        kind = getattr(transformers, one.model)
        return kind(kind.config_class(**config_of(one, kind.config_class)))
    path, _, name = case.words[0].partition(":")
    spec = importlib.util.spec_from_file_location("case_" + Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if name:
        return getattr(module, name)()
    kinds = [v for v in vars(module).values() if isinstance(v, type) and v.__module__ == spec.name
             and issubclass(v, torch.nn.Module)]  # fmt: skip
    return getattr(module, "build", kinds[-1] if kinds else None)()


def tensors(value):
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for one in value.values() for t in tensors(one)]
    return [t for one in value for t in tensors(one)] if isinstance(value, (list, tuple)) else []


def train(case, batch, backend, *, hooks, wide):
    """Return losses, gradients, figures of layers and the account of the compiler."""
    import torch
    from torch._dynamo.utils import counters

    from hookcli.hooks.traced.layers import TracedLayers
    from hookcli.hooks.traced.slots import ALL, NORM, Slots

    torch._dynamo.reset()
    counters.clear()
    model = build(case)
    layers = TracedLayers(Slots(ALL if wide else NORM)) if hooks else None
    if layers:
        layers.attach(model)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    called = torch.compile(model, backend=backend) if backend else model
    losses, figures, seconds = [], [], []
    for step in range(STEPS):
        torch.manual_seed(step)
        args = [made(one) for one in batch.get("args", ())]
        kwargs = {key: made(one) for key, one in batch.get("kwargs", {}).items()}
        if layers:
            layers.reset(model)
        began = time.perf_counter()
        found = {id(t): t for t in tensors(called(*args, **kwargs)) if t.requires_grad}
        loss = sum(t.abs().float().square().mean() for t in found.values())
        optimizer.zero_grad()
        loss.backward()
        seconds.append(time.perf_counter() - began)
        if layers:
            figures += layers.read(model)
        losses.append(loss.item())
        gradients = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        optimizer.step()
    account = {
        "graphs": counters["stats"]["unique_graphs"],
        "breaks": sum(counters["graph_break"].values()),
    }
    return losses, gradients, figures, account, seconds[0]


def compare(case, backend, wide):
    """Return the outcome of one model."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    out = Outcome(case.name)
    if backend == "inductor":
        torch._inductor.config.fallback_random = True
    try:
        batch = batch_of(case.name, case)
        plain = train(case, batch, backend, hooks=False, wide=wide)
    except Exception as error:  # it does not run or compile without hookcli
        out.why = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
        return out
    again = train(case, batch, backend, hooks=False, wide=wide)
    hooked = train(case, batch, backend, hooks=True, wide=wide)
    eager = train(case, batch, None, hooks=True, wide=wide)
    steady = plain[0] == again[0] and same(plain[1], again[1])
    if steady and plain[0] != hooked[0]:
        out.problems.append(f"losses {plain[0]} and {hooked[0]}")
    if steady and not same(plain[1], hooked[1]):
        out.problems.append("gradients are not equal bit by bit")
    if plain[3] != hooked[3]:
        out.problems.append(f"compiler {plain[3]} and {hooked[3]}")
    out.graphs, out.breaks = plain[3]["graphs"], plain[3]["breaks"]
    out.first_ratio = hooked[4] / plain[4]
    if steady:
        compare_figures(out, eager[2], hooked[2], RTOL[backend])
    else:
        out.why = "differs from run to run without hooks"
    return out


def same(a, b):
    import torch

    return all(
        (x is None and y is None) or (x is not None and y is not None and torch.equal(x, y))
        for x, y in zip(a, b, strict=True)
    )


def table(figures):
    """Return norms by layer, path and number of the call; a count of several is kept."""
    rows, numbers = {}, {}
    for one in figures:
        key = one.name, one.path
        numbers[key] = numbers.get(key, -1) + 1
        gradient = None if one.gradient is None else one.gradient["norm"]
        rows[(*key, numbers[key])] = one.values["norm"], gradient, one.shape, one.calls
    return rows


def compare_figures(out, eager, compiled, rtol):
    ours, theirs = table(compiled), table(eager)
    for key in theirs.keys() | ours.keys():
        name = f"{key[0]}{key[1]}#{key[2]}"
        if key not in ours and "." in key[1]:
            out.unseen += 1  # in an object that is not a tuple, a list or a tensor
            continue
        if key not in ours:
            out.problems.append(f"missing: {name}")
            continue
        if key not in theirs:
            out.problems.append(f"only compiled: {name}")
            continue
        (value, gradient, shape, calls), (value_, gradient_, shape_, _) = ours[key], theirs[key]
        out.layers += 1
        if calls > 1:
            out.problems.append(f"several calls in one place: {name}")
        if shape is not None and any(s not in (None, t) for s, t in zip(shape, shape_)):
            out.problems.append(f"shape of {name}: {shape} and {shape_}")
        out.worst = max(out.worst, far(value, value_))
        if far(value, value_) > rtol:
            out.problems.append(f"norm of {name}: {value:g} and {value_:g}")
        if gradient is None and gradient_ is not None:
            out.unknown += 1
        elif gradient_ is None and gradient:  # AOTAutograd passes zeros where nothing passes
            out.problems.append(f"gradient of {name}: {gradient} and {gradient_}")
        elif gradient_ is None:
            continue
        elif gradient is not None:
            out.gradients += 1
            largest = max((row[1] for row in theirs.values() if row[1] is not None), default=0)
            if abs(gradient - gradient_) > 1e-6 * largest:
                out.worst = max(out.worst, far(gradient, gradient_))
                if far(gradient, gradient_) > 10 * rtol:
                    out.problems.append(f"gradient of {name}: {gradient:g} and {gradient_:g}")


def far(a, b):
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b) / max(abs(a), abs(b))


def work(case, backend, wide, end):
    sys.stderr = Path(os.devnull).open("w")
    began = time.monotonic()
    try:
        out = compare(case, backend, wide)
    except Exception as error:
        out = Outcome(case.name, problems=[f"{type(error).__name__}: {str(error)[:300]}"])
    out.seconds = time.monotonic() - began
    end.send(asdict(out))


def judged(case, backend, wide):
    """Return the outcome of a model that runs in a process of its own."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(case, backend, wide, send))
    process.start()
    send.close()
    try:
        if receive.poll(TIMEOUT):
            return Outcome(**receive.recv())
    except EOFError:
        pass
    finally:
        process.kill()
        process.join()
    return Outcome(case.name, why=f"no answer in {TIMEOUT} s, or the process died")


def line_of(out):
    state = "equal"
    if out.why:
        state = f"not compared: {out.why}"
    elif out.problems:
        state = "; ".join(out.problems[:4])
    figures = f"{out.layers} norms, {out.gradients} of gradients, worst {out.worst:.1e}"
    return f"{out.name}: {state} ({figures}, {out.graphs} graphs, {out.seconds:.0f} s)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--backend", default="aot_eager", choices=list(RTOL))
    parser.add_argument("--limit", type=int, default=10_000)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--statistics", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    import transformers  # noqa: F401

    found = [one for one in cases(None) if one.group in GROUPS and "@" not in one.name]
    found = list({one.name: one for one in found}.values())[:: options.every]
    if options.names:
        found = [one for one in found if one.name in options.names]
    outcomes = []
    for case in found:
        out = judged(case, options.backend, options.statistics)
        outcomes.append(out)
        print(line_of(out), flush=True)
        if sum(not one.why for one in outcomes) >= options.limit:
            break
    compared = [one for one in outcomes if not one.why]
    print(
        f"{len(compared)} models compared, {sum(not one.problems for one in compared)} without a "
        f"difference, {sum(one.layers for one in compared):,} norms of outputs and "
        f"{sum(one.gradients for one in compared):,} of gradients, "
        f"{sum(one.unknown for one in compared):,} gradients and "
        f"{sum(one.unseen for one in compared):,} outputs not written, "
        f"{len(outcomes) - len(compared)} models not compared"
    )
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(one) for one in outcomes], indent=1))
    return any(one.problems for one in compared)


if __name__ == "__main__":
    sys.exit(main())
