"""Compares scripted and traced modules under hookcli with the Python modules under hooks by hand.

`python -m benchmarks.proof.scripted [names...] [--trace]`. Every module of torch.nn that can be
scripted (`scripted_modules`), alone and inside another module, and compositions (`scripted_nets`):
in eval and in train mode, the rows of `inspect` (calls, order, shapes), the statistics of `trace`,
and the gradients of `grads`. Prints each difference, and the counts.
"""

from __future__ import annotations

import argparse
import inspect
import io
import math
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from benchmarks.proof import scripted_modules, scripted_nets
from tests import truth

RTOL = 1e-4
HOOKS = """
hooks:
  - {kind: forward_pre, at: "*", do: {stats: norm}}
  - {kind: forward, at: "*", do: {stats: norm}}
"""


@dataclass
class Side:
    """What one run showed: rows of calls, norms of values and gradients, parameters."""

    rows: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    gradients: list = field(default_factory=list)
    parameters: dict = field(default_factory=dict)
    error: str | None = None


def loss(output):
    """A sum in which each element has its own weight; it is the same for lists and tuples."""
    total = torch.zeros(())
    for number, tensor in enumerate(truth.tensors(output)):
        if tensor.is_floating_point() and tensor.requires_grad:
            weights = torch.linspace(0.5, 1.5 + number, tensor.numel()).view(tensor.shape)
            total = total + (tensor * weights).sum()
    return total


def norm(tensor):
    """The 2-norm in double precision, None if there is no tensor."""
    if tensor is None:
        return None
    dense = tensor.detach().to_dense()
    return float(torch.linalg.vector_norm(dense.to(torch.float64)))


# By hand


def by_hand(model, args, kwargs):
    """Run the Python module with plain hooks; kwargs come in the order of the signature."""
    side, names = Side(), {id(module): name for name, module in model.named_modules()}
    handles: list[RemovableHandle] = []
    stack, counts = [], Counter()

    def begin(module, args, kwargs):
        count = counts[id(module)]
        counts[id(module)] += 1
        stack.append(len(side.rows))
        parent = stack[-2] if len(stack) > 1 else None
        side.rows.append([names[id(module)], type(module).__name__, count, parent, None, None])
        for table in (side.inputs, side.outputs, side.gradients):
            table.append(None)

    def enter(module, args, kwargs):
        here = stack[-1]
        if kwargs:  # TorchScript passes all by position, in the order of the signature
            bound = inspect.signature(module.forward).bind(*args, **kwargs)
            args, kwargs = tuple(bound.arguments.values()), {}
        tensors = list(truth.tensors((args, kwargs)))
        side.rows[here][4] = [tuple(t.shape) for t in tensors]
        side.inputs[here] = [norm(t) for t in tensors]

    def leave(module, args, output):
        here = stack.pop()
        tensors = list(truth.tensors(output))
        side.rows[here][5] = [tuple(t.shape) for t in tensors]
        side.outputs[here] = [norm(t) for t in tensors]
        side.gradients[here] = [None] * len(tensors)
        for index, tensor in enumerate(tensors):
            if tensor.requires_grad:
                tensor.register_hook(
                    lambda g, index=index: side.gradients[here].__setitem__(index, norm(g))
                )

    for module in model.modules():
        handles.append(module.register_forward_pre_hook(begin, with_kwargs=True, prepend=True))
        handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
        handles.append(module.register_forward_hook(leave))
    truth.seed()
    try:
        total = loss(model(*args, **kwargs))
        if total.requires_grad:
            total.backward()
    except Exception as error:
        side.error = f"{type(error).__name__}: {error}"
    side.parameters = {name: norm(p.grad) for name, p in model.named_parameters()}
    return side


# hookcli


def by_hookcli(script, args, kwargs, mode, config):
    import hookcli

    side = Side()
    batch = (args, kwargs) if kwargs else tuple(args)
    if kwargs:
        names = [a.name for a in script._c._get_method("forward").schema.arguments[1:]]
        batch = {**dict(zip(names, args, strict=False)), **kwargs}
    shown = hookcli.inspect(script, batch, mode=mode)
    side.rows = [
        [row.name, row.type, row.call, row.parent,
         [leaf.shape for leaf in row.inputs], [leaf.shape for leaf in row.outputs]]
        for row in shown.layers
    ]  # fmt: skip
    traced = hookcli.trace(script, batch, loss=loss, mode=mode, config=config)
    found = {}
    for event in traced.events:
        found[event.kind, event.target, event.call] = [
            (leaf.stats or {}).get("norm") for leaf in event.values
        ]
    side.inputs = [found.get(("forward_pre", r[0], r[2])) for r in side.rows]
    side.outputs = [found.get(("forward", r[0], r[2])) for r in side.rows]
    graded = hookcli.grads(script, batch, loss=loss, mode=mode)
    gradients = {  # calls in forks begin in another order in each run
        (row.name, row.call): [(leaf.grad or {}).get("norm") for leaf in row.outputs]
        for row in graded.layers
    }
    side.gradients = [gradients.get((r[0], r[2])) for r in side.rows]
    side.parameters = {row.name: (row.grad or {}).get("norm") for row in graded.parameters}
    for table in (side.inputs, side.outputs, side.gradients):
        table[:] = [row if row is None else [*map(_number, row)] for row in table]
    errors = [r.error for r in (shown, traced, graded) if r.error is not None]
    if errors:
        side.error = f"{errors[0].type}: {errors[0].message}"
    return side


def _number(value):
    return float(value) if isinstance(value, str) else value


# Differences


def close(a, b):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=RTOL, abs_tol=1e-6) or (a != a and b != b)
    return a == b


def differences(python, script, *, ordered=True):
    """Yield what differs, by the name of what is compared."""
    if script.error is not None or python.error is not None:
        if script.error != python.error:
            yield "error", python.error, script.error
        return
    tables = [python.inputs, python.outputs, python.gradients]
    others = [script.inputs, script.outputs, script.gradients]
    ours, theirs = python.rows, script.rows
    if not ordered:
        ours, theirs = _sorted(ours, tables), _sorted(theirs, others)
        tables, others = [ours], [theirs]
    names = ("inputs", "outputs", "gradients") if ordered else ("calls",)
    if ordered and ours != theirs:
        wrong = [(a, b) for a, b in zip(ours, theirs) if a != b]
        yield "rows", [len(ours), *(a for a, _ in wrong)], [len(theirs), *(b for _, b in wrong)]
        return
    for name, table, other in zip(names, tables, others, strict=True):
        if not close(table, other):
            rows = [row[0] for row in ours]
            wrong = [(n, a, b) for n, a, b in zip(rows, table, other) if not close(a, b)]
            yield name, [w[:2] for w in wrong[:4]], [w[2] for w in wrong[:4]]
    for name, value in python.parameters.items():
        if not close(value, script.parameters.get(name)):
            yield f"gradient of {name}", value, script.parameters.get(name)


def _sorted(rows, tables):
    """Return rows without their order: names of parents instead of numbers, then by name."""
    lines = [
        [row[0], row[1], None if row[3] is None else rows[row[3]][0], row[4], row[5],
         *(table[number] if number < len(table) else None for table in tables)]
        for number, row in enumerate(rows)
    ]  # fmt: skip
    return sorted(lines, key=lambda line: (str(line[0]), str(line[3:])))


# The cases


class Inside(nn.Module):
    """Calls one module with what it gets, twice."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        self.inner(x)
        return self.inner(x)


def loaded(module):
    """Return a module as out of a file."""
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)


def cases():
    """Yield (name, what makes model, args and kwargs) of every case."""
    for name in scripted_modules.MODULES:
        yield (
            name,
            lambda name=name: (
                (scripted_modules.make(name) or (None,)) and (*scripted_modules.make(name), {})
            ),
        )
        if len(scripted_modules.MODULES[name]) == 2 and not name.endswith("packed"):
            yield f"{name}, inside", lambda name=name: _inside(*scripted_modules.make(name))
    for name, (make, inputs, kwargs) in scripted_nets.NETS.items():
        yield f"net: {name}", lambda m=make, i=inputs, k=kwargs: (_seeded(m), i(), k)


def _seeded(make):
    torch.manual_seed(0)
    return make()


def _inside(module, inputs):
    return Inside(module), inputs, {}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--trace", action="store_true", help="trace the modules instead")
    options = parser.parse_args()
    counts, kinds = Counter(), Counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "hooks.yaml"
        config.write_text(HOOKS)
        for name, make in cases():
            if options.names and not any(word in name for word in options.names):
                continue
            for mode in ("eval", "train"):
                state, found = compare(name, make, mode, config, trace=options.trace)
                counts[state] += 1
                for what, python, script in found:
                    kinds[what.split(" of ")[0]] += 1
                    print(f"{name} [{mode}]: {what}\n  python {python}\n  script {script}"[:700])
    print(dict(counts), dict(kinds))


def _graded(make):
    """Return a case; the inputs of a model without parameters get gradients."""
    model, args, kwargs = make()
    if model is not None and next(model.parameters(), None) is None:
        for tensor in truth.tensors(args):
            if tensor.is_floating_point():
                tensor.requires_grad_()
    return model, args, kwargs


def compare(name, make, mode, config, *, trace=False):
    """Return "equal", "different" or why a case cannot be compared, and the differences."""
    model, args, kwargs = _graded(make)
    model.train(mode == "train")
    try:
        made = torch.jit.trace(model, tuple(args)) if trace else torch.jit.script(model)
        script = loaded(made)
    except Exception:
        return "not scriptable", []
    python = by_hand(model, args, kwargs)
    model, args, kwargs = _graded(make)
    try:
        found = by_hookcli(script, args, kwargs, mode, config)
    except Exception as error:
        return "hookcli raised", [("raised", None, repr(error))]
    ordered = name.removeprefix("net: ") not in scripted_nets.UNORDERED
    result = list(differences(python, found, ordered=ordered))
    return ("different" if result else "equal"), result


if __name__ == "__main__":
    main()
