"""What a TorchScript module tells is what the Python module tells that it was made from."""

from __future__ import annotations

import pytest
import torch

from tests.models.torchscript.nets import NETS, Behind, Forked, batch
from tests.models.torchscript.sides import (
    calls,
    events,
    loaded,
    norms,
    observed,
    same_norms,
    scripted,
    shapes,
    traced,
)

UNTRACED = {"kinds", "no grad"}  # what is no tensor is not traced, nor is no_grad
UNUSED = {"recurrent", "twice"}  # of what nobody takes a traced module gives nothing


def made(name):
    make, x = NETS[name]
    torch.manual_seed(0)
    return make(), x()


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_scripted_module_tells_the_same(name, mode):
    model, x = made(name)
    script = loaded(scripted(model))
    eager, script_ = observed(model, x, mode=mode), observed(script, x, mode=mode)
    assert calls(script_) == calls(eager)
    assert shapes(script_) == shapes(eager)
    assert events(script_) == events(eager)
    assert same_norms(norms(script, script_), norms(model, eager))
    assert script_.losses == pytest.approx(eager.losses, rel=1e-5)


@pytest.mark.parametrize("name", sorted(set(NETS) - UNTRACED))
def test_a_traced_module_tells_the_same(name):
    model, x = made(name)
    model.eval()
    script = loaded(traced(model, x))
    eager, script_ = observed(model, x), observed(script, x)
    assert calls(script_) == calls(eager)
    for (_, found), (_, wanted) in zip(shapes(script_), shapes(eager), strict=True):
        assert found == wanted or name in UNUSED
    assert same_norms(norms(script, script_), norms(model, eager))


@pytest.mark.parametrize("times", [6])
def test_every_run_tells_the_same_whatever_the_executor_does(times):
    model, x = made("loop")
    script = loaded(scripted(model))
    first = observed(script, x)
    for _ in range(times):
        again = observed(script, x)
        assert calls(again) == calls(first)
        assert events(again) == events(first)
        assert again.losses == first.losses


@pytest.mark.parametrize(
    "kinds",
    [
        (("tensor", "*:input"),),
        (("node", "*:input"),),
        (("node", "*"),),
        (("node_pre", "head"),),
        (("tensor", "*"), ("accumulate_grad", "*")),
        (("multi_grad", "*"),),
        (("engine_callback", None),),
        (("op", {"op": "aten.addmm"}),),
        (("global_forward_pre", None), ("global_forward", None), ("forward", "*")),
        (("saved_tensors", None),),
        (("optimizer_step_pre", None), ("global_optimizer_step_post", None)),
    ],
    ids=lambda kinds: ", ".join(kind for kind, _ in kinds),
)
def test_every_kind_that_a_scripted_module_can_have_fires_as_in_python(kinds):
    from hookcli.spec.hooks import Match, Selector

    model, x = made("loop")
    kinds = [
        (kind, Selector((Match(**at),), str(at)) if isinstance(at, dict) else at)
        for kind, at in kinds
    ]
    script = loaded(scripted(model))
    eager, script_ = observed(model, x, kinds), observed(script, x, kinds)
    assert events(eager)
    assert events(script_) == events(eager)


def test_a_fork_is_a_call_of_the_one_that_forked():
    torch.manual_seed(0)
    model = Forked()
    script = loaded(scripted(model))
    found = observed(script, batch())
    assert sorted(c.name for c in found.calls) == ["", "a", "b"]
    assert {c.name: c.depth for c in found.calls} == {"": 0, "a": 1, "b": 1}
    assert same_norms(norms(script, found), norms(model, observed(model, batch())))


def test_what_stands_behind_an_interface_is_seen():
    torch.manual_seed(0)
    script = loaded(scripted(Behind()))
    assert [c.name for c in observed(script, batch()).calls] == ["", "step", "step.l"]


def test_a_line_of_the_source_stands_at_each_call():
    model, x = made("loop")
    found = observed(loaded(scripted(model)), x)
    eager = observed(model, x)
    assert [c.place for c in found.calls if c.name] == [c.place for c in eager.calls if c.name]
