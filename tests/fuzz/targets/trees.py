"""Random trees of modules with random hooks, compared with hooks attached by hand."""

from __future__ import annotations

import copy
import warnings
from functools import partial
from random import Random
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.fuzz.case import Case

OBSERVING = [
    *((kind, "*") for kind in ("forward_pre", "forward", "full_backward_pre", "full_backward")),
    ("tensor", "*"), ("tensor", "*:output"), ("post_accumulate_grad", "*"),
    ("accumulate_grad", "*"), ("multi_grad", "*"), ("node", "*"), ("node_pre", "*"),
    ("saved_tensors", None), ("engine_callback", None), ("optimizer_step_pre", None),
    ("optimizer_step_post", None), ("state_dict_post", "*"),
]  # fmt: skip
CHANGES = {
    "scale": (("scale", 0.5), lambda t: t * 0.5),
    "negate": (("negate",), lambda t: -t),
    "zero": (("zero",), torch.zeros_like),
    "clamp": (("clamp", (-0.25, 0.25)), lambda t: t.clamp(-0.25, 0.25)),
}


class Branches(nn.Module):
    """Calls its parts in an order drawn when it was made; `how` joins what they return."""

    def __init__(self, parts: list[nn.Module], calls: list[int], how: str) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.calls, self.how = calls, how

    def forward(self, x: torch.Tensor) -> Any:
        outputs = []
        for index in self.calls:
            part = self.parts[index]
            if self.how == "checkpoint":
                x = checkpoint(part, x, use_reentrant=False)
            else:
                x = part(x)
            x = x[0] if isinstance(x, tuple) else x["y"] if isinstance(x, dict) else x
            outputs.append(x)
        match self.how:
            case "tuple":
                return x, outputs[0]
            case "dict":
                return {"y": x, "first": outputs[0]}
            case "sum":
                return sum(outputs[1:], outputs[0])
            case _:
                return x


def _leaf(rng: Random) -> nn.Module:
    return rng.choice((
        lambda: nn.Linear(4, 4, bias=rng.random() < 0.7), nn.ReLU, nn.Tanh, nn.Identity,
        lambda: nn.LayerNorm(4), lambda: nn.Dropout(0.3), lambda: nn.BatchNorm1d(4),
    ))()  # fmt: skip


def _module(rng: Random, depth: int, made: list[nn.Module]) -> nn.Module:
    if made and rng.random() < 0.15:
        return rng.choice(made)  # a module with two names
    if depth == 0 or rng.random() < 0.3:
        module = _leaf(rng)
    else:
        parts = [_module(rng, depth - 1, made) for _ in range(rng.randint(1, 3))]
        calls = [rng.randrange(len(parts)) for _ in range(rng.randint(1, 4))]
        how = rng.choice(("chain", "chain", "sum", "tuple", "dict", "checkpoint"))
        module = Branches(parts, calls, how)
    made.append(module)
    return module


def model_of(rng: Random) -> nn.Module:
    """A model with at least one parameter that gets a gradient."""
    torch.manual_seed(rng.randrange(2**31))
    model = nn.Sequential(nn.Linear(4, 4), _module(rng, rng.randint(1, 3), []))
    for parameter in model.parameters():
        if rng.random() < 0.15:
            parameter.requires_grad_(False)
    model[0].weight.requires_grad_(True)
    return model


def tree(rng: Random) -> Case:
    checks = (firing_order, changed_values, shapes_and_norms, neutrality)
    return Case(check=partial(rng.choice(checks), rng))


def _quiet() -> Any:
    caught = warnings.catch_warnings()
    caught.__enter__()
    warnings.simplefilter("ignore")
    return caught


def _outcome(run: Any) -> Any:
    """What a run gives, or the message of torch's refusal."""
    try:
        return run()
    except RuntimeError as error:
        return str(error)
    except IndexError:  # of byhand.total: no output requires grad, so nothing can be compared
        return None


def firing_order(rng: Random) -> None:
    """Kinds, targets and shapes of all firings are those of hooks attached by hand."""
    from tests.hooks import byhand
    from tests.hooks.running import carry_out, hook, rows

    _quiet()
    model, x = model_of(rng).train(), torch.randn(3, 4)
    wanted = rng.sample(OBSERVING, rng.randint(1, 4))
    by_hand = copy.deepcopy(model)
    torch.manual_seed(0)
    expected = _outcome(
        lambda: byhand.fired(by_hand, x.clone(), [(kind, at or "*") for kind, at in wanted])
    )
    hooks = [hook(kind, at, index=i) for i, (kind, at) in enumerate(wanted)]
    found = carry_out(model, x.clone(), hooks, command="grads")
    if expected is None:
        return
    if isinstance(expected, str):
        assert str(found.error) == expected, (wanted, model, found.error, expected)
        return
    assert found.error is None, (wanted, model, found.error)
    assert rows(found) == expected, (wanted, model, _first(rows(found), expected))


def _first(found: list, expected: list) -> Any:
    for index, pair in enumerate(zip(found, expected, strict=False)):
        if pair[0] != pair[1]:
            return index, *pair
    return len(found), len(expected)


def changed_values(rng: Random) -> None:
    """Gradients after hooks that change values are bitwise those of hooks written by hand."""
    from tests.hooks.running import carry_out, hook

    _quiet()
    model, x = model_of(rng).train(), torch.randn(3, 4)
    kind = rng.choice(("forward", "forward_pre", "tensor"))
    action, change = CHANGES[rng.choice(list(CHANGES))]
    plain = copy.deepcopy(model)
    names = dict(plain.named_parameters() if kind == "tensor" else plain.named_modules())
    if kind == "tensor":
        names = {name: one for name, one in names.items() if one.requires_grad}
    target = rng.choice(sorted(name for name in names if name))
    held = names[target]
    if kind == "tensor":
        held.register_hook(change)
    elif kind == "forward":
        held.register_forward_hook(lambda m, a, out: _mapped(out, change))
    else:
        held.register_forward_pre_hook(lambda m, a: _mapped(a, change))
    expected = _outcome(lambda: _gradients(plain, x.clone()))
    found = carry_out(model, x.clone(), [hook(kind, target, action)], command="grads", mode="as-is")
    what = (kind, target, action, model)
    if expected is None:
        return
    if isinstance(expected, str):
        assert str(found.error) == expected, (*what, found.error, expected)
        return
    assert found.error is None, (*what, found.error)
    gradients = {name: one.grad for name, one in model.named_parameters()}
    for name, value in expected.items():
        same = value is gradients[name] if value is None else _same(value, gradients[name])
        assert same, (*what, name, value, gradients[name])


def _same(a: torch.Tensor, b: torch.Tensor | None) -> bool:
    return b is not None and torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def _mapped(value: Any, change: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_mapped(item, change) for item in value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    return value


def _gradients(model: nn.Module, x: torch.Tensor) -> dict[str, torch.Tensor | None]:
    from tests.hooks.byhand import total

    torch.manual_seed(0)
    total(model(x)).backward()
    return {name: one.grad for name, one in model.named_parameters()}


def shapes_and_norms(rng: Random) -> None:
    """Calls, their shapes and the norms of gradients are those of plain PyTorch."""
    import hookcli
    from tests import truth

    _quiet()
    model, x = model_of(rng).train(), torch.randn(3, 4)
    rows, error = truth.by_hand(copy.deepcopy(model), (x,), {})
    report = hookcli.inspect(model, x, mode="as-is")
    assert (error is None) == (report.error is None), (model, error, report.error)
    found = truth.of_report(report)
    assert found == rows, (model, _first(found, rows))
    plain = copy.deepcopy(model)
    expected = _outcome(lambda: _gradients(plain, x.clone()))
    if expected is None:
        return
    if isinstance(expected, str):
        return
    report = hookcli.grads(model, x, loss="sum", mode="as-is")
    for row in report.parameters:
        value = expected[row.name]
        norm = None if row.grad is None else row.grad["norm"]
        wanted = None if value is None else float(value.double().norm())
        close = norm == wanted or abs(norm - wanted) <= 1e-6 * max(1.0, wanted)
        assert close, (model, row.name, norm, wanted)


def neutrality(rng: Random) -> None:
    """The model, its gradients, hooks and the random generators are bitwise as before."""
    import hookcli
    from tests.engine.test_neutrality import state

    _quiet()
    model, x = model_of(rng), torch.randn(3, 4)
    if rng.random() < 0.5:
        model(x)
        for parameter in model.parameters():
            if rng.random() < 0.7:
                parameter.grad = torch.randn_like(parameter)
    model.train(rng.random() < 0.5)
    command = rng.choice((hookcli.inspect, hookcli.grads, hookcli.trace))
    mode = rng.choice(("train", "eval", "as-is"))
    before = state(model)
    command(model, x, mode=mode)
    after = state(model)
    for key, value in before.items():
        assert after[key] == value, (model, command.__name__, mode, key)
