"""The parts of hooks, called with plain values: what they find, return and describe."""

from __future__ import annotations

import inspect
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from torch import nn

from hookcli.actions.observe import NotFiniteError
from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.errors import ModelError
from hookcli.hooks import values
from hookcli.hooks.attach.backward_calls import Origins, first_tensor
from hookcli.hooks.attach.comm import Averaging, checked, process_group
from hookcli.hooks.attach.module import BackwardModuleHook
from hookcli.hooks.attach.state import StateHook
from hookcli.hooks.build import builder_of
from hookcli.hooks.misuse.edits import _names, _Seen
from hookcli.hooks.misuse.faults import place_of, signature
from hookcli.hooks.misuse.firings import never_fired
from hookcli.hooks.misuse.retention import Retention
from hookcli.hooks.misuse.returns import _misfit, unlike
from tests.hooks import functions, models
from tests.hooks.running import call, carry_out, finished, hook

# What a hook returns ------------------------------------------------------------------------------

ONE = torch.ones(2)


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (ONE, "returned int instead of a tensor"),
        ((ONE,), "returned int instead of a tensor"),
        ((ONE, ONE), "returned int instead of the tuple with 2 tensors"),
        ([ONE], "returned int instead of the list with 1 tensor"),
        ({"a": ONE, "b": 1}, "returned int instead of the dict with 1 tensor"),
    ],
)
def test_a_value_without_tensors_is_no_replacement_of_one_that_has_some(old, said):
    assert unlike(old, 3, arguments=False) == (said, "error")


@pytest.mark.parametrize(
    ("values_", "returned", "said"),
    [
        ((ONE, None), (ONE, None), None),
        ((ONE, None), (None, None), None),
        ((ONE, None), (ONE, ONE), "None at [1], which has no gradient, got float32 of shape [2]"),
        ((ONE,), (3,), "a tensor or None at [0], got int"),
        ((ONE,), (ONE, ONE), "a tuple of length 1, got length 2"),
    ],
)
def test_gradients_are_returned_where_torch_has_some(values_, returned, said):
    assert _misfit(values_, returned) == said


def test_the_signature_of_a_function_of_events_is_one_argument():
    spec = hook("forward", "0", call("event_half", signature="event"))
    assert signature(spec) == "hook(event)"
    assert signature(hook("forward", "0", call("event_half"))).startswith("hook(module, args,")


class Called:
    def __call__(self, event):
        return event


def test_the_place_of_an_object_that_can_be_called_is_that_of_its_method():
    line = inspect.getsourcelines(Called.__call__)[1]
    assert place_of(Called()).endswith(f"test_hook_parts.py:{line}")
    assert place_of(Called().__call__).endswith(f"test_hook_parts.py:{line}")
    assert place_of(functions.event_half).endswith("functions.py:8")
    assert place_of(print) is None


# Edits and tensors that are kept ------------------------------------------------------------------


class Marked(torch.Tensor):
    pass


@pytest.mark.parametrize(("difference", "edited"), [(0.0, False), (None, False), (0.5, True)])
def test_the_values_of_a_subclass_are_compared_by_their_difference(difference, edited):
    tensor = torch.ones(2).as_subclass(Marked)
    seen = _Seen("x", tensor, tensor._version, torch.ones(2))
    compared = []

    def compare(copy, now):
        compared.append(now)
        return difference

    assert seen.edited(SimpleNamespace(difference=compare)) is edited
    assert compared == [tensor] if not edited else compared[0] is tensor


@pytest.mark.parametrize(
    ("count", "names"), [(2, ("module", "args")), (3, ("module", "args", "output")), (4, ("",) * 4)]
)
def test_arguments_are_named_by_the_signature_that_has_as_many(count, names):
    assert _names("hook(module, args, output); with x: hook(module, args)", "hook", count) == names


def test_a_value_without_memory_of_its_own_is_not_kept_alive():
    retention = Retention()
    sparse, empty, kept = torch.eye(2).to_sparse(), torch.ones(0), torch.ones(4)
    retention.note([sparse, empty, kept], "fc")
    retention.note([kept[:1]], "other")  # the same memory
    assert retention.alive([]) == (1, 16, "fc")
    assert retention.alive([kept]) is None
    del kept
    assert retention.alive([]) is None


def test_notes_of_many_shapes_are_forgotten_and_made_again(monkeypatch):
    monkeypatch.setattr(values, "_known", {})
    monkeypatch.setattr(values, "_MOST", 3)
    for size in (*range(1, 7), 1):
        [note] = values.argument_notes((torch.ones(size),), {})
        assert note == ("[0]", (size,), "float32", False)
        assert len(values._known) <= 4


# Why a hook did not fire --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "at", "why"),
    [
        ("forward", "0:output.nothing", "the value has no tensor at that path"),
        ("tensor", "0:output.nothing", "the value has no tensor with a gradient at that path"),
        ("op", {"op": "aten.relu"}, "no aten.relu ran"),
    ],
)
def test_a_hook_that_never_fired_has_a_reason(kind, at, why):
    spec = hook(kind, None if isinstance(at, dict) else at)
    if isinstance(at, dict):
        match = SimpleNamespace(op=at["op"], node=None, path="")
        spec = replace(spec, at=SimpleNamespace(text="aten.relu", any=(match,)))
    found = never_fired(
        SimpleNamespace(spec=spec, fired=0, attached=1, on_wrappers=False, firings=0)
    )
    assert why in found.message


# Attaching ----------------------------------------------------------------------------------------


def test_a_hook_for_all_modules_ignores_those_of_another_model():
    fired = []
    ours = SimpleNamespace(
        kind=SimpleNamespace(returned=None), fire=lambda site, *_: fired.append(site.target),
        context=SimpleNamespace(restarts=[], ended=[], open=True),
    )  # fmt: skip
    known, strange = nn.Linear(2, 2), nn.Linear(2, 2)
    state = StateHook(ours, {id(known): "fc"})
    state(strange, {}, "")
    state(known, {}, "")
    assert fired == ["fc"]
    backward = BackwardModuleHook(ours, {id(known): "fc"})
    assert backward(strange, (ONE,), (ONE,)) is None
    assert fired == ["fc"]


def test_the_call_of_a_hook_outside_backward_is_unknown():
    assert Origins().find(3) is None


def test_the_tensor_of_a_legacy_hook_is_the_first_in_containers():
    assert first_tensor({"a": 1, "b": (ONE,), "c": ONE}) is ONE
    assert first_tensor(([{"x": ONE}], 3)) is ONE
    assert first_tensor([]) is None
    endless = []
    endless.append(endless)
    assert first_tensor(endless) is None


def test_the_group_of_a_process_is_used_if_there_is_one():
    assert not dist.is_initialized()
    with process_group():
        first = dist.group.WORLD
        with process_group():
            assert dist.group.WORLD is first
        assert dist.is_initialized()
    assert not dist.is_initialized()


def done(value):
    future = torch.futures.Future()
    future.set_result(value)
    return future


@pytest.mark.parametrize("value", [ONE, [ONE], (ONE,)])
def test_the_future_of_a_bucket_has_its_average(value):
    assert checked(done(value), torch.zeros(2), "").wait() is ONE


@pytest.mark.parametrize("value", [torch.ones(3), ONE.double(), [ONE, ONE], None])
def test_the_future_of_a_bucket_must_fit_it(value):
    with pytest.raises((ModelError, RuntimeError), match="must contain a tensor of the bucket's"):
        checked(done(value), torch.zeros(2), "hooks.yaml:1").wait()
    with pytest.raises(ModelError, match="must return a Future, got NoneType"):
        checked(None, torch.zeros(2), "")


@pytest.mark.parametrize("new", [None, torch.full((2,), 7.0)])
def test_what_a_hook_returns_for_a_bucket_is_averaged(new):
    bucket = SimpleNamespace(buffer=lambda: ONE, index=lambda: 0, parameters=list, set_buffer=None)
    put = []
    bucket.set_buffer = put.append
    one = SimpleNamespace(fire=lambda *_, **__: new)
    averaging = Averaging(None, {})
    averaging._fire(one, bucket, ONE)
    assert put == ([] if new is None else [new])


def test_an_action_that_attaching_performs_has_no_builder():
    alone = [action for action in ACTIONS.values() if action.build is None]
    assert alone
    for action in alone:
        with pytest.raises(LookupError, match=action.name):
            builder_of(action)


# Runs ---------------------------------------------------------------------------------------------


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))


def test_the_first_error_of_nested_hooks_is_told():
    hooks = [
        hook("forward", "1", "assert_finite"),
        hook("forward", "", "assert_finite", index=1),
    ]
    model = net()
    nn.init.constant_(model[0].bias, float("nan"))
    found = carry_out(model, models.batch(), hooks)
    assert isinstance(found.error, NotFiniteError)
    assert str(found.error).startswith("1 contains 6 NaN")


def test_a_node_whose_only_gradient_is_left_alone_passes_it_on():
    model, plain = net(), net()
    finished(model, models.batch(), [hook("node_pre", "2", call("event_none", signature="event"))])
    plain(models.batch()).sum().backward()
    for ours, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(ours.grad, theirs.grad)
