"""`hookcli.list_hooks` and `hookcli.remove_hooks`: what is gone, and what still works."""

from __future__ import annotations

import dataclasses
import sys
import types
import warnings

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn
from torch.autograd.graph import register_multi_grad_hook
from torch.nn.modules import module as torch_module
from torch.nn.utils import parametrizations, prune, spectral_norm, weight_norm

import hookcli
from hookcli.errors import RequestError
from tests.models.test_existing_hooks import REGISTER, log

X = torch.linspace(-1, 1, 12).view(4, 3)


@pytest.fixture(autouse=True)
def no_leftovers():
    """torch keeps the options of global hooks that other tests have removed."""
    for table in (
        torch_module._global_forward_hooks_with_kwargs,
        torch_module._global_forward_hooks_always_called,
    ):
        for number in set(table) - set(torch_module._global_forward_hooks):
            del table[number]


def other(*args):
    return None


def net():
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3)))
    for child in (model[0], model[1][0]):
        child.register_forward_hook(log)
        child.register_forward_pre_hook(other)
        child.weight.register_hook(other)
    return model


def left(model):
    return [(hook.kind, hook.target) for hook in hookcli.list_hooks(model)]


def test_a_row_is_frozen_and_is_a_list_of_them():
    rows = hookcli.list_hooks(net())
    assert type(rows) is list
    with pytest.raises(dataclasses.FrozenInstanceError):
        rows[0].kind = "x"


def test_without_a_filter_all_hooks_of_the_model_are_removed_and_returned():
    model = net()
    before = hookcli.list_hooks(model)
    assert hookcli.remove_hooks(model) == before
    assert hookcli.list_hooks(model) == []
    assert hookcli.remove_hooks(model) == []


@pytest.mark.parametrize(
    ("filters", "removed"),
    [
        ({"kind": "forward"}, [("forward", "0"), ("forward", "1.0")]),
        ({"kind": ["forward_*", "tensor"], "module": "1*"},
         [("forward_pre", "1.0"), ("tensor", "1.0.weight")]),
        ({"module": "0"}, [("forward_pre", "0"), ("forward", "0"), ("tensor", "0.weight")]),
        ({"module": "*.weight"}, [("tensor", "0.weight"), ("tensor", "1.0.weight")]),
        ({"function": "log", "module": "0"}, [("forward", "0")]),
        ({"function": "tests.models.*"}, [("forward", "0"), ("forward", "1.0")]),
        ({"function": "no_such"}, []),
    ],
)  # fmt: skip
def test_filters_select_by_kind_module_and_function(filters, removed):
    model = net()
    before = left(model)
    rows = hookcli.remove_hooks(model, **filters)
    assert [(row.kind, row.target) for row in rows] == removed
    assert left(model) == [hook for hook in before if hook not in removed]


@pytest.mark.parametrize("kind", REGISTER)
def test_after_removal_torch_has_nothing_left_of_a_hook(kind):
    """Also its options, and the flag that forbids the other kind of backward hooks."""
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    tables = [(name, value) for name, value in vars(torch_module).items()
              if name.startswith("_global") and isinstance(value, dict)]  # fmt: skip
    REGISTER[kind](model)
    [row] = hookcli.remove_hooks(model, kind=kind)
    assert row.kind == kind
    for name, value in (*vars(model[0]).items(), *tables):
        assert "hook" not in name or not value, name
    assert torch_module._global_is_full_backward_hook is None
    assert not model[0].weight._backward_hooks
    with REGISTER["full_backward"](model):
        model(X.clone().requires_grad_()).sum().backward()


def test_options_go_with_their_hook_and_the_others_stay():
    model = nn.Linear(3, 3)
    called = []
    model.register_forward_hook(log, with_kwargs=True, always_call=True)
    model.register_forward_hook(lambda *args: called.append(len(args)), with_kwargs=True)
    hookcli.remove_hooks(model, function="log")
    model(X)
    assert called == [4]
    assert len(model._forward_hooks) == len(model._forward_hooks_with_kwargs) == 1
    assert not model._forward_hooks_always_called


def test_the_flag_of_full_hooks_stays_while_one_of_them_does():
    model = nn.Linear(3, 3)
    model.register_full_backward_hook(log)
    model.register_full_backward_hook(other)
    hookcli.remove_hooks(model, function="log")
    assert model._is_full_backward_hook is True
    hookcli.remove_hooks(model)
    model.register_backward_hook(log)  # torch refuses it while the flag is set


def test_global_hooks_are_removed_only_if_their_kind_is_named():
    model = nn.Linear(3, 3)
    handle = torch_module.register_module_forward_hook(log, with_kwargs=True)
    try:
        assert hookcli.remove_hooks(model) == []
        assert left(model) == [("global_forward", "")]
        assert len(hookcli.remove_hooks(model, kind="global_*")) == 1
        assert not torch_module._global_forward_hooks_with_kwargs
    finally:
        handle.remove()


def test_a_multi_grad_hook_is_removed_from_all_of_its_tensors():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    fired = []
    register_multi_grad_hook([p.weight for p in model], fired.append)
    removed = hookcli.remove_hooks(model, module="0*")
    assert [row.target for row in removed] == ["0.weight", "1.weight"]
    model(X.clone().requires_grad_()).sum().backward()
    assert fired == []


def old_weight_norm(linear):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return weight_norm(linear)


FEATURES = {
    "weight_norm": old_weight_norm,
    "spectral_norm": spectral_norm,
    "prune": lambda linear: prune.l1_unstructured(linear, "weight", 0.5),
    "parametrize": parametrizations.orthogonal,
}


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_stays_unless_it_is_named_and_then_leaves_the_weight_as_it_is(feature):
    model = nn.Sequential(FEATURES[feature](nn.Linear(3, 3)), nn.ReLU()).eval()
    model[0].register_forward_hook(log)
    expected, before = model(X), left(model)
    assert [row.feature for row in hookcli.remove_hooks(model)] == [None]
    assert len(left(model)) == len(before) - 1
    assert torch.equal(model(X), expected)
    removed = hookcli.remove_hooks(model, feature=feature)
    assert {row.feature for row in removed} == {feature}
    assert left(model) == []
    assert type(model[0]) is nn.Linear
    assert {name for name, _ in model[0].named_parameters()} == {"weight", "bias"}
    assert not [*model.buffers()]
    assert torch.allclose(model(X), expected, atol=1e-6)


def test_all_hooks_of_a_feature_are_returned_although_torch_removes_them_together():
    model = spectral_norm(nn.Linear(3, 3))
    removed = hookcli.remove_hooks(model, feature="spectral_norm")
    assert [row.kind for row in removed] == [
        "forward_pre",
        "state_dict_post",
        "load_state_dict_pre",
    ]


def test_a_hook_that_a_lazy_module_needs_is_refused_and_nothing_is_removed():
    model = nn.Sequential(nn.LazyLinear(3))
    model.register_forward_hook(log)
    before = left(model)
    with pytest.raises(RequestError) as caught:
        hookcli.remove_hooks(model, feature="*")
    assert "lazy requires it" in caught.value.message
    assert left(model) == before
    model(X)


def test_accelerate_removes_its_own_hooks(monkeypatch):
    class Hook:
        pass

    Hook.__module__ = "accelerate.hooks"
    model = nn.Sequential(nn.Linear(3, 3))
    model[0]._hf_hook, model[0]._old_forward = Hook(), model[0].forward
    model[0].forward = lambda x: x
    assert hookcli.remove_hooks(model) == []
    with pytest.raises(RequestError):
        hookcli.remove_hooks(model, feature="accelerate")

    def remove_hook_from_module(module):
        del module._hf_hook, module.forward, module._old_forward

    package = types.SimpleNamespace(remove_hook_from_module=remove_hook_from_module)
    monkeypatch.setitem(sys.modules, "accelerate.hooks", package)
    [row] = hookcli.remove_hooks(model, feature="accelerate")
    assert row.kind == "patched_forward"
    assert "forward" not in vars(model[0])


def test_hookclis_own_hooks_are_never_removed():
    model = nn.Sequential(nn.Linear(3, 3))
    with hookcli.attach(model, command="trace") as recording:
        assert hookcli.remove_hooks(model, kind="*", feature="*") == []
        model(X.clone().requires_grad_()).sum().backward()
    assert recording.events


@pytest.mark.parametrize(
    ("filters", "message", "hint"),
    [
        ({"kind": "foward"}, "unknown kind 'foward'", "try `forward`"),
        ({"kind": "x*"}, "unknown kind 'x*'", "choose from forward_pre"),
        ({"feature": "weight_nrm"}, "unknown feature 'weight_nrm'", "try `weight_norm`"),
    ],
)
def test_a_filter_that_selects_nothing_that_exists_is_refused(filters, message, hint):
    with pytest.raises(RequestError) as caught:
        hookcli.remove_hooks(net(), **filters)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


def test_what_is_not_a_module_is_refused():
    for function in (hookcli.list_hooks, hookcli.remove_hooks):
        with pytest.raises(RequestError, match=r"expected an nn\.Module, got dict"):
            function({})


_KINDS = ["forward_pre", "forward", "full_backward", "state_dict_pre", "tensor",
          "post_accumulate_grad"]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(_KINDS)), max_size=10),
    st.sets(st.sampled_from(_KINDS)),
    st.sampled_from(["*", "0*", "[12]*", "3"]),
)
def test_removed_and_left_together_are_what_was_there(chosen, kinds, module):
    model = nn.Sequential(*(nn.Linear(3, 3) for _ in range(4)))
    for at, kind in chosen:
        REGISTER[kind](nn.ModuleList([model[at]]))
    before = hookcli.list_hooks(model)
    removed = hookcli.remove_hooks(model, kind=tuple(kinds) or None, module=module)
    now = hookcli.list_hooks(model)
    assert sorted(map(repr, [*removed, *now])) == sorted(map(repr, before))
    wanted = kinds or set(_KINDS)
    inside = {"*": "0123", "0*": "0", "[12]*": "12", "3": "3"}[module]
    assert all(row.kind in wanted and row.module in inside for row in removed)
    assert not any(row.kind in wanted and row.module in inside for row in now)
    model(X.clone().requires_grad_()).sum().backward()
