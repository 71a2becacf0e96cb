"""A scripted or traced module beside the Python module that it was made from."""

from __future__ import annotations

import io
import math
import warnings

import torch

from hookcli.models.torchscript.tapped import tap
from tests.hooks.running import finished, hook

PRESETS = (("forward_pre", "*"), ("forward", "*"), ("tensor", "*:output"),
           ("post_accumulate_grad", "*"))  # fmt: skip


def scripted(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(model)


def traced(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(
            model, args or None, example_kwarg_inputs=kwargs or None, strict=False,
            check_trace=False,
        )  # fmt: skip


def loaded(module, swaps=lambda _: False):
    """The module as out of a file, made to tell of its calls."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(module, buffer)
        buffer.seek(0)
        root = torch.jit.load(buffer)
    tap(root, swaps)
    return root


def hooks(*kinds):
    return [hook(kind, at, index=i) for i, (kind, at) in enumerate(kinds or PRESETS)]


def observed(model, x, kinds=(), **how):
    return finished(model, x, hooks(*kinds), **{"loss": "probe", "mode": "eval", **how})


def calls(recording):
    return [(c.name, c.type, c.index, c.parent, c.depth) for c in recording.calls]


def shapes(recording):
    return [
        ([shape for _, shape, *_ in c.inputs], [shape for _, shape, *_ in c.outputs])
        for c in recording.calls
    ]


def events(recording):
    return [
        (e.phase, e.kind, e.target, e.call, e.node, [(path, shape) for path, shape, *_ in e.values])
        for e in recording.events
    ]


def norms(model, recording):
    """The gradient norm of each parameter by name; None where none came."""
    names = {id(p): n for n, p in model.named_parameters()}
    [found] = recording.gradients
    return {names[k]: (s.grad or {}).get("norm") for k, s in found.items() if k in names}


def same_norms(found, wanted):
    return found.keys() == wanted.keys() and all(
        (found[k] is None) == (v is None)
        and (v is None or math.isclose(found[k], v, rel_tol=1e-4, abs_tol=1e-7))
        for k, v in wanted.items()
    )
