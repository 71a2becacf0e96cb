"""Compares hooks on scripted modules with the same hooks attached by hand to the Python modules.

`python -m benchmarks.proof.scripted_hooks [names...]`. Hooks that look and hooks that change
values, prepended, appended and global, on all modules of each net: the order in which they run,
the norms that each sees, and the gradients of parameters. Some nets have scripted hooks of their
own.
"""

from __future__ import annotations

import argparse
import inspect
import tempfile
import warnings
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from benchmarks.proof.scripted import (
    DIRECT,
    NETS,
    UNORDERED,
    _seeded,
    call_forwards,
    close,
    loaded,
    loss,
    norm,
    number,
)
from tests import truth

# Actions: as YAML writes them, and by hand.
ACTIONS = {
    "scale: 0.5": lambda t: t * 0.5,
    "negate": torch.neg,
    "zero": torch.zeros_like,
    "clamp: [-0.5, 0.4]": lambda t: t.clamp(-0.5, 0.4),
    "clip_norm: 0.7": lambda t: (
        t * torch.clamp(0.7 / (torch.linalg.vector_norm(t) + 1e-6), max=1.0)
    ),
    "add_noise: 0.1": None,  # of a generator for each hook
}
# Plans: (kind, prepended, whether it acts).
PLANS = {
    "both": [("forward_pre", False, True), ("forward", False, True)],
    "around": [
        ("forward_pre", False, False), ("forward_pre", True, True), ("forward_pre", False, True),
        ("forward_pre", True, False), ("forward", False, False), ("forward", True, True),
        ("forward", False, True), ("forward", True, False),
    ],
    "global": [
        ("forward_pre", False, False), ("global_forward_pre", False, True),
        ("forward", True, False), ("global_forward", False, True), ("forward", False, False),
    ],
}  # fmt: skip
NO_GRADIENT = "ModelError: backward cannot start: the output contains no tensor that requires grad"
# Global hooks see no keyword arguments, and in TorchScript all arguments are positional.
KEYWORDS = frozenset({"attention", "attention, weights", "encoder", "decoder", "uses keywords"})
# A module without tensors under several names becomes several modules.
SEVERAL_NAMES = frozenset({"activations"})


def config_of(plan, action):
    """Return the hooks of a plan as YAML: each acting hook looks first."""
    lines = ["hooks:"]
    for kind, prepended, acts in PLANS[plan]:
        act = f"- {{{action}}}" if ":" in action else f"- {action}"
        lines += [
            f"  - kind: {kind}",
            *([] if kind.startswith("global") else ['    at: "*"']),
            *(["    options: {prepend: true}"] if prepended else []),
            "    do:",
            "      - {stats: norm}",
            *([f"      {act}"] if acts else []),
        ]
    lines += ['  - {kind: post_accumulate_grad, at: "*", do: {stats: norm}}']
    return "\n".join(lines) + "\n"


def mapped(value: Any, change):
    """Return a value of the same structure with other floating-point tensors."""
    if isinstance(value, torch.Tensor):
        return change(value) if value.is_floating_point() or value.is_complex() else value
    if isinstance(value, tuple):
        items = [mapped(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    return value


def _act(action):
    if ACTIONS[action] is not None:
        return ACTIONS[action]
    generator = torch.Generator().manual_seed(0)
    return lambda t: t + torch.randn(t.shape, generator=generator, dtype=t.real.dtype) * 0.1


def _positional(module, args, kwargs):
    """Pass all arguments by position, as TorchScript does."""
    if not kwargs:
        return None
    bound = inspect.signature(module.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return tuple(bound.arguments.values()), {}


def by_hand(model, args, plan, action):
    """Return what hooks attached by hand saw, the norms of gradients, and the error."""
    names = {id(module): name for name, module in model.named_modules()}
    events: list[Any] = []
    running: Counter[int] = Counter()

    def begin(module, _args):
        running[id(module)] += 1

    def hook_of(index, kind, acts):
        change = _act(action) if acts else None
        before = kind.endswith("_pre")

        def look(module, *values):
            value = values[0] if before else values[-1]
            here = (names[id(module)], running[id(module)] - 1)
            events.append((index, *here, [norm(t) for t in truth.tensors(value)]))
            return None if change is None else mapped(value, change)

        return look

    with ExitStack() as stack:
        stack.enter_context(register_module_forward_pre_hook(begin))
        for index, (kind, prepended, acts) in enumerate(PLANS[plan]):
            hook = hook_of(index, kind, acts)
            if kind.startswith("global"):
                register = {"global_forward_pre": register_module_forward_pre_hook,
                            "global_forward": register_module_forward_hook}[kind]  # fmt: skip
                stack.enter_context(register(hook))
                continue
            for module in model.modules():
                add = getattr(nn.Module, f"register_{kind}_hook")
                stack.enter_context(add(module, hook, prepend=prepended))
        for module in model.modules():
            add = nn.Module.register_forward_pre_hook
            stack.enter_context(add(module, _positional, prepend=True, with_kwargs=True))
        truth.seed()
        error = None
        try:
            total = loss(model(*args))
            if total.requires_grad:
                total.backward()
            else:
                error = NO_GRADIENT  # as hookcli says
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    gradients = {n: norm(p.grad) for n, p in model.named_parameters() if p.grad is not None}
    return events, gradients, error


def by_hookcli(script, args, config):
    """Return the same of hookcli on the scripted module."""
    import hookcli

    report = hookcli.trace(script, tuple(args), loss=loss, mode="eval", config=config)
    events, gradients = [], {}
    for event in report.events:
        norms = [number((leaf.stats or {}).get("norm")) for leaf in event.values]
        if event.kind == "post_accumulate_grad":
            gradients[event.target] = norms[0]
        else:
            events.append((event.hook, event.target, event.call, norms))
    error = report.error
    return events, gradients, error and f"{error.type}: {error.message}"


def compare(make, inputs, plan, action, folder, *, ordered=True, direct=False):
    """Return "equal", "not scriptable" or what differs."""
    model = _seeded(make).eval()
    try:
        script = loaded(torch.jit.script(model))
    except Exception:
        return "not scriptable"
    if direct:
        call_forwards(model)
    config = Path(folder) / "hooks.yaml"
    config.write_text(config_of(plan, action))
    truth.seed()
    python = by_hand(model, inputs(), plan, action)
    truth.seed()
    try:
        found = by_hookcli(script, inputs(), config)
    except Exception as error:
        return f"raised {error!r}"
    if python[2] != found[2]:
        return f"error: {python[2]} / {found[2]}"
    events, others = python[0], found[0]
    if not ordered:
        events, others = sorted(events, key=lambda e: e[:3]), sorted(others, key=lambda e: e[:3])
        if [e[:2] for e in events] == [e[:2] for e in others] and close(python[1], found[1]):
            return "equal"
    if not close(events, others):
        wrong = [(a, b) for a, b in zip(events, others) if not close(a, b)]
        return f"events: {len(events)} / {len(others)}: {wrong[:2]}"
    names = {name for name, value in python[1].items() if not close(value, found[1].get(name))}
    return f"gradients: {sorted(names)}" if names else "equal"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, inputs, kwargs) in NETS.items():
            if kwargs or (options.names and name not in options.names):
                continue
            for plan in PLANS:
                if name in SEVERAL_NAMES or (plan == "global" and name in KEYWORDS):
                    continue
                for action in ACTIONS if plan == "both" else ("scale: 0.5",):
                    ordered = name not in UNORDERED
                    if ACTIONS[action] is None and not ordered:
                        continue  # numbers are drawn in another order in each run
                    direct = f"net: {name}" in DIRECT
                    case = (make, inputs, plan, action)
                    state = compare(*case, folder, ordered=ordered, direct=direct)
                    counts[state if state in {"equal", "not scriptable"} else "different"] += 1
                    if state not in {"equal", "not scriptable"}:
                        print(f"{name}, {plan}, {action}: {state}"[:700], flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
