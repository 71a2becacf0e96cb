"""The state of a model and of its process that a tool could change."""

from __future__ import annotations

import random
from typing import Any

import numpy
import torch
from torch import nn
from torch.nn.modules import module as modules

HOOKS = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
    "_state_dict_hooks", "_load_state_dict_pre_hooks",
)  # fmt: skip
GLOBAL_HOOKS = tuple(name for name in vars(modules) if name.startswith("_global_"))
FUNCTIONS = {"torch": torch, "torch.Tensor": torch.Tensor, "torch.nn.functional": nn.functional}


def unsettle(model: nn.Module) -> None:
    """A model in the middle of training: gradients, a part in eval mode, used generators."""
    model.train()
    next(model.children()).eval()
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.full_like(parameter, 0.5)
    torch.rand(3), random.random(), numpy.random.rand()


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.shape == b.shape and torch.equal(a, b)
    return (a is None) == (b is None) and bool(a == b)


def copied(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.detach().clone()


def state(model: nn.Module) -> dict[str, dict[str, Any]]:
    """Return copies of the state: kind → name → value."""
    named = dict(model.named_modules())
    return {
        "training flags": {name: part.training for name, part in named.items()},
        "parameters": {name: copied(p) for name, p in model.named_parameters()},
        "buffers": {name: copied(b) for name, b in model.named_buffers()},
        "gradients": {name: copied(p.grad) for name, p in model.named_parameters()},
        "requires_grad": {name: p.requires_grad for name, p in model.named_parameters()},
        "hooks": {
            f"{name}.{kind}": len(getattr(part, kind)) for name, part in named.items()
            for kind in HOOKS
        },
        "global hooks": {
            name: len(table) for name in GLOBAL_HOOKS
            if isinstance(table := getattr(modules, name), dict)
        },
        "attributes of modules": {name: sorted(vars(part)) for name, part in named.items()},
        "torch's generator": {"": torch.get_rng_state()},
        "random's generator": {"": random.getstate()},
        "numpy's generator": {"": repr(numpy.random.get_state())},
        "grad mode": {"": torch.is_grad_enabled()},
        "functions of torch": {
            f"{owner}.{name}": id(value) for owner, space in FUNCTIONS.items()
            for name, value in vars(space).items() if callable(value)
        },
    }  # fmt: skip


def changes(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> dict[str, int]:
    """Return kind → number of differences: changed, removed, and (except functions) new values."""
    found = {}
    for kind, old in before.items():
        new = after[kind]
        names = old if kind == "functions of torch" else {**old, **new}  # torch imports lazily
        count = sum(name not in old or name not in new or not same(old[name], new[name])
                    for name in names)  # fmt: skip
        if count:
            found[kind] = count
    return found
