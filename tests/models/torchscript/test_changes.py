"""Hooks that change values do in a scripted module what they do in the Python module."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.hooks.resolve import swapping
from tests.hooks.running import call, carry_out, hook
from tests.models.torchscript.nets import NETS, Kinds, batch
from tests.models.torchscript.sides import loaded, norms, same_norms, scripted

DOUBLE = ("scale", 2.0)


def outcome(model, x, one):
    """The loss and the gradients of a run with this hook, and whether it changed anything."""
    recording = carry_out(model, x, [one], command="grads", loss="sum", mode="eval")
    if recording.error is not None:
        raise recording.error
    changed = any(event.changed for event in recording.events)
    return recording.losses, norms(model, recording), changed


def agrees(model, x, one):
    """The same hook changes in a scripted module what it changes in Python; and it does change."""
    script = loaded(scripted(model), lambda _: True)
    (losses, wanted, changed), (others, found, also) = (
        outcome(side, x, one) for side in (model, script)
    )
    assert changed
    assert also
    assert others == pytest.approx(losses, rel=1e-5)
    assert same_norms(found, wanted)


@pytest.mark.parametrize(
    ("name", "kind", "at", "action"),
    [
        ("loop", "forward", "blocks.1.c", DOUBLE),  # one instance of a type that many share
        ("loop", "forward_pre", "head", "zero"),
        ("loop", "forward", "", DOUBLE),  # the root, whose output is a tuple
        ("loop", "global_forward", None, DOUBLE),
        ("twice", "forward", "layer", ("clamp", (-0.1, 0.1))),
        ("in place", "forward", "c", "negate"),
        ("recurrent", "forward_pre", "head", DOUBLE),
        ("encoder", "forward", "0.linear1", "negate"),
        ("convolutions", "forward_pre", "*", DOUBLE),
    ],
)
def test_an_action_changes_what_it_changes_in_python(name, kind, at, action):
    make, x = NETS[name]
    torch.manual_seed(0)
    agrees(make(), x(), hook(kind, at, action))


@pytest.mark.parametrize("at", ["maybe", "several", "named", "paired", "nested", "arguments"])
@pytest.mark.parametrize("kind", ["forward", "forward_pre"])
def test_tensors_in_every_structure_can_be_replaced(at, kind):
    torch.manual_seed(0)
    agrees(Kinds(), batch(), hook(kind, at, DOUBLE))


def test_only_where_a_hook_may_change_a_value_can_it_be_changed():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    script = scripted(model)
    wanted = swapping((hook("forward", "0", DOUBLE), hook("forward", "1")), script)
    assert [wanted(module) for module in script.modules()] == [False, True, False]


def test_a_function_of_the_users_sees_pytorchs_signature():
    make, x = NETS["loop"]
    torch.manual_seed(0)
    agrees(make(), x(), hook("forward", "head", call("forward_half")))


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt(), SystemExit(3)])
def test_what_a_hook_raises_comes_out_as_it_was(error):
    from hookcli.models.backend import backend_of

    script = loaded(scripted(nn.Sequential(nn.Linear(4, 4))))

    def enter(call, _):
        if call.name == "0":
            raise error

    model = backend_of(script)
    with pytest.raises(type(error)) as caught, model.observe(enter, lambda *_: None):
        model.call((batch(),), {})
    assert caught.value is error
