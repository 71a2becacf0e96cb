"""What kinds that fire in backward may return: as torch has it, told where it would raise."""

from __future__ import annotations

import pytest
import torch

from tests.hooks import functions, models
from tests.hooks.running import call, finished, hook

BY_HAND = {
    "full_backward": lambda m, f: m.head.register_full_backward_hook(f),
    "full_backward_pre": lambda m, f: m.head.register_full_backward_pre_hook(f),
}


def grads(model):
    return [None if p.grad is None else p.grad.clone() for p in model.parameters()]


def by_hand(kind, function):
    torch.manual_seed(0)
    model = models.Plain()
    if kind in BY_HAND:
        BY_HAND[kind](model, function)
        model(models.batch()).sum().backward()
        return grads(model)
    output = model(models.batch())
    node = output.grad_fn
    (node.register_hook if kind == "node" else node.register_prehook)(function)
    output.sum().backward()
    return grads(model)


def by_us(kind, *actions):
    torch.manual_seed(0)
    model = models.Plain()
    found = finished(model, models.batch(), [hook(kind, "head", *actions)], loss="sum")
    return found, grads(model)


WRONG = {
    "gradients_longer": "a tuple of length",
    "gradients_summed": "of shape []",
    "gradients_doubled_in_width": "float64",
    "gradients_as_numbers": ", got float",
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("kind", ["full_backward", "full_backward_pre", "node", "node_pre"])
def test_what_torch_would_raise_at_is_told_with_its_place_and_not_used(kind, name):
    with pytest.raises((RuntimeError, TypeError)):
        by_hand(kind, getattr(functions, name))
    found, changed = by_us(kind, call(name))
    assert found.error is None
    told = [one for one in found.findings if one.severity == "error"]  # of each node its own
    assert any(WRONG[name] in one.message for one in told)
    assert all(one.message.endswith("it was not used") for one in told)
    assert {one.place for one in told} == {"hooks.yaml:1: hooks[0]"}
    _, bare = by_us(kind)
    assert all(map(torch.equal, changed, bare))


@pytest.mark.parametrize("kind", ["full_backward", "full_backward_pre", "node", "node_pre"])
def test_none_in_a_tuple_is_taken_as_by_hand(kind):
    found, changed = by_us(kind, call("gradients_left_out"))
    assert [one.message for one in found.findings] == []
    for ours, theirs in zip(changed, by_hand(kind, functions.gradients_left_out), strict=True):
        assert (ours is None) == (theirs is None)
        assert ours is None or torch.equal(ours, theirs)
