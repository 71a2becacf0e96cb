"""Hooks on what is not quite a module or a parameter yet, and PyTorch's own options."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

from hookcli.spec.hooks import Match, Selector
from tests.hooks import models
from tests.hooks.running import call, carry_out, finished, hook


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.LazyLinear(4), nn.Linear(4, 2)

    def forward(self, x):
        return self.b(self.a(x))


@pytest.mark.parametrize("kind", ["tensor", "post_accumulate_grad", "accumulate_grad"])
def test_parameters_without_a_shape_are_hooked_once_they_have_one(kind):
    found = finished(Lazy(), models.batch(), [hook(kind, "*")], steps=2)
    for step in (0, 1):
        fired = [event.target for event in found.events if event.step == step]
        assert sorted(fired) == ["a.bias", "a.weight", "b.bias", "b.weight"]


def test_a_group_with_a_parameter_without_a_shape_waits_for_it():
    found = finished(Lazy(), models.batch(), [hook("multi_grad", "*")])
    [event] = found.events
    assert [shape for _, shape, *_ in event.values] == [(4, 4), (4,), (2, 4), (2,)]


def scripted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = torch.jit.script(nn.Linear(4, 4))
    return nn.Sequential(child, nn.Linear(4, 2))


@pytest.mark.parametrize("kind", ["full_backward", "full_backward_pre", "backward"])
def test_torchscript_children_take_no_backward_hooks_and_that_is_told(kind):
    found = finished(scripted(), models.batch(), [hook(kind, "?")])
    assert [event.target for event in found.events] == ["1"]
    messages = [f.message for f in found.findings if f.target == "0"]
    assert messages == [
        "a TorchScript module does not support backward hooks and was skipped: use kind tensor"
    ]


@pytest.mark.parametrize("kind", ["forward_pre", "forward", "tensor"])
def test_torchscript_children_are_seen_from_outside_like_others(kind):
    at = "?:output" if kind == "tensor" else "?"
    found = finished(scripted(), models.batch(), [hook(kind, at)])
    assert sorted(event.target[0] for event in found.events) == ["0", "1"]


class Skips(nn.Module):
    """A residual branch that begins with an Identity."""

    def __init__(self):
        super().__init__()
        self.fc, self.norm, self.last = nn.Linear(4, 4), nn.Identity(), nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        return h + self.last(self.norm(h))


def test_no_share_is_told_where_a_module_gives_its_input_back():
    hooks = [hook("node", "*:input", "stats"), hook("node", "norm:input", index=1)]
    found = finished(Skips(), models.batch(), hooks)
    assert [event.target for event in found.events] == ["last:input[0]"]
    [note] = [row.notes for row in found.calls if row.name == "norm"]
    assert note == ["returned an input unchanged: its own share of the gradient is unknown"]
    told = [finding for finding in found.findings if finding.target == "norm:input[0]"]
    assert [(one.rule, one.severity) for one in told] == [("hook_misuse", "warning")]


def test_prepended_hooks_fire_first_and_their_changes_are_seen_by_the_others():
    first = hook("forward", "0", "stats", ("scale", 0.0))
    then = hook("forward", "0", ("scale", 3.0), options={"prepend": True}, index=1)
    model = nn.Sequential(nn.Linear(4, 4))
    events = finished(model, models.batch(), [first, then]).events
    assert [event.hook for event in events] == [1, 0]
    assert events[1].stats[0]["norm"] == pytest.approx(3 * model(models.batch()).norm().item())


def test_keyword_arguments_are_seen_and_changed_with_with_kwargs():
    hooks = [
        hook("forward_pre", "dec", ("scale", 0.0), options={"with_kwargs": True}),
        hook("forward", "dec", options={"with_kwargs": True}, index=1),
        hook("forward", "dec.fc", "stats", index=2),
    ]
    model = models.build("dicts")
    events = finished(model, models.batch(), hooks).events
    assert [path for path, *_ in events[0].values] == ["[1].state[0]", "[1].state[1].more"]
    bias = model.dec.fc.bias.norm().item() * 2**0.5
    assert events[1].stats[0]["norm"] == pytest.approx(bias)


class Raises(nn.Module):
    def __init__(self):
        super().__init__()
        self.bad = Bad()

    def forward(self, x):
        try:
            return self.bad(x)
        except ValueError:
            return x * 2


class Bad(nn.Module):
    def forward(self, x):
        raise ValueError("no")


def test_always_call_fires_where_the_forward_raised_with_nothing():
    always = hook("forward", "bad", options={"always_call": True})
    found = finished(Raises(), models.batch(), [always, hook("forward", "bad", index=1)])
    assert [(event.hook, event.values) for event in found.events] == [(0, ())]


OPERATORS = {
    "a tensor that an operator gave": (
        "tensor", {"op": "aten.tanh"}, [("", "TanhBackward0", [(2, 3)])]
    ),
    "its calls count from 0 in the order of the forward": (
        "tensor", {"op": "aten.addmm", "call": 1}, [("", "AddmmBackward0", [(2, 2)])]
    ),
    "nodes by name": (
        "node_pre", {"node": "AddmmBackward0"},
        [("", "AddmmBackward0", [(2, 2)]), ("", "AddmmBackward0", [(2, 3)])],
    ),
    "in a module": (
        "node_pre", {"node": "AddmmBackward0", "inside": Selector((Match(pattern="fc"),), "fc")},
        [("fc", "AddmmBackward0", [(2, 3)])],
    ),
    "operators by name": (
        "op", {"op": "aten.addmm"},
        [("fc", "aten.addmm", [(2, 3)]), ("head", "aten.addmm", [(2, 2)])],
    ),
    "operators in a module": (
        "op", {"op": "aten.tanh", "inside": Selector((Match(pattern="act"),), "act")},
        [("act", "aten.tanh", [(2, 3)])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_and_nodes_are_found_by_name(name):
    kind, conditions, expected = OPERATORS[name]
    at = Selector((Match(**conditions),), "at")
    found = finished(models.plain, models.batch(), [hook(kind, at)], command="grads")
    fired = [(e.target, e.node, [shape for _, shape, *_ in e.values]) for e in found.events]
    assert fired == expected


@pytest.mark.parametrize("name", models.MODELS)
def test_gradients_taken_with_autograd_grad_fire_tensor_hooks_and_nothing_accumulates(name):
    model = models.build(name)
    first = next(n for n, _ in model.named_parameters())
    hooks = [hook("tensor", "*"), hook("post_accumulate_grad", "*", index=1)]
    found = carry_out(model, models.batch(), hooks, inputs=(first,))
    if name == "checkpoint_reentrant":
        assert "use_reentrant=True" in str(found.error)  # torch refuses
        return
    assert found.error is None
    assert [(event.kind, event.target) for event in found.events] == [("tensor", first)]
    assert all(parameter.grad is None for parameter in model.parameters())


def test_three_steps_are_those_of_a_loop_by_hand():
    model, hand = models.plain(), models.plain()
    optimizer = torch.optim.SGD(hand.parameters(), lr=0.01)
    hand.fc.weight.register_hook(lambda grad: grad.clamp(-0.01, 0.01))
    for _ in range(3):
        optimizer.zero_grad()
        hand(models.batch()).sum().backward()
        optimizer.step()
    clamp = hook("tensor", "fc.weight", ("clamp", (-0.01, 0.01)))
    finished(model, models.batch(), [clamp, hook("optimizer_step_pre", index=1)], steps=3)
    for one, other in zip(model.parameters(), hand.parameters(), strict=True):
        assert torch.equal(one, other)


def test_an_explicit_gradient_takes_the_place_of_a_loss():
    model, hand = models.plain(), models.plain()
    gradient = [[1.0, 2.0], [3.0, 4.0]]
    hand(models.batch()).backward(torch.tensor(gradient))
    finished(model, models.batch(), [hook("tensor", "*", call("nothing"))], gradient=gradient)
    for one, other in zip(model.parameters(), hand.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)
