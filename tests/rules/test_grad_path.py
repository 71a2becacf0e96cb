"""Where gradients end: against parameters whose `.grad` is None after a backward by hand."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn
from torch.utils.checkpoint import checkpoint

import hookcli
from hookcli.engine.probes.context import LostGradients
from hookcli.engine.probes.gradients.cuts import cuts
from hookcli.engine.probes.rerun import Rerun
from hookcli.models.backend import backend_of
from hookcli.models.batch import Batch
from hookcli.report.path_ends.end_rows import is_in
from hookcli.spec.plan import Plan
from tests.rules.gradient_cuts import CUTS, Chain, line_of

X = torch.linspace(-2, 2, 20).view(5, 4)
PLAN = Plan(frozenset({"build", "forward", "loss", "backward"}), "train")


def by_hand(model, loss=lambda out: out.square().sum()):
    """The names of trainable parameters whose .grad is None, and of those with only zeros."""
    model = copy.deepcopy(model)
    loss(model(X)).backward()
    graded = {n: p.grad for n, p in model.named_parameters() if p.requires_grad}
    none = frozenset(n for n, grad in graded.items() if grad is None)
    return LostGradients(none, frozenset(n for n in graded.keys() - none if not graded[n].any()))


def followed(model, lost):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of some conversions
        rows = cuts(Rerun(backend_of(model), Batch((X,)), PLAN, "cpu"), lost, everything=True)
    values = {probe: [r.value for r in rows if r.probe == probe] for probe in ("cuts", "unreached")}
    reasons = [value for value in values["unreached"] if "cut_off" in value]
    connected = {row.target: row.value for row in rows if row.probe == "connected"}
    return reasons, [value for value in values["cuts"] if "operator" in value], connected


def members(model, parts):
    names = [n for n, p in model.named_parameters() if p.requires_grad]
    return {name for name in names if any(is_in(name, part) for part in parts)}


POSITIONS = st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1)))


@pytest.mark.parametrize("cut", CUTS, ids=[cut.__name__ for cut in CUTS])
@settings(max_examples=3, deadline=None)
@given(position=POSITIONS)
def test_the_operator_the_line_and_the_parameters_of_a_cut_are_named(position, cut):
    count, at = position
    model = Chain(count, at, cut)
    lost = by_hand(model)
    assert lost.missing == {f"layers.{i}.fc.{p}" for i in range(at + 1) for p in ("weight", "bias")}
    (reason,), _, connected = followed(model, lost)
    assert members(model, reason["cut_off"]) == lost.missing
    assert reason["parameters"] == len(lost.missing)
    assert reason["operator"] == CUTS[cut][0]
    assert reason["layer"] == f"layers.{at}"
    assert reason["place"] == f"tests/rules/gradient_cuts.py:{line_of(cut)}"
    assert all(connected[f"layers.{i}"] is (i > at) for i in range(count) if i != at)
    assert connected["head"] is connected[""] is True


@pytest.mark.parametrize("cut", CUTS, ids=[cut.__name__ for cut in CUTS])
@settings(max_examples=3, deadline=None)
@given(position=POSITIONS)
def test_a_cut_that_the_gradient_goes_around_is_known_and_is_no_reason(position, cut):
    count, at = position
    model = Chain(count, at, cut, around=True)
    lost = by_hand(model)
    assert not lost
    reasons, found, connected = followed(model, lost)
    assert reasons == []
    assert all(connected.values())
    places = {(value["operator"], value["layer"], value["place"]) for value in found}
    place = f"tests/rules/gradient_cuts.py:{line_of(cut)}"
    assert (CUTS[cut][0], f"layers.{at}", place) in places
    (value,) = (value for value in found if value["operator"] == CUTS[cut][0])
    before = {f"layers.{i}.fc.{p}" for i in range(at + 1) for p in ("weight", "bias")}
    assert members(model, value["behind"]) == before


def test_layers_inside_no_grad_are_named_with_the_line_of_the_with():
    model = Chain(3, 0, lambda x: x, under=torch.no_grad)
    (reason,), _, _ = followed(model, by_hand(model))
    assert (reason["operator"], reason["cut_off"], reason["layer"]) == ("no_grad", ["layers"], "")
    line = Chain.forward.__code__.co_firstlineno + 1
    assert reason["place"] == f"tests/rules/gradient_cuts.py:{line}"


class Two(nn.Module):
    """Two layers, with the forward of each subclass."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)


class Unused(Two):
    def forward(self, x):
        self.b(x)
        return self.a(x)


class Never(Two):
    def forward(self, x):
        return self.a(x)


class OneOfTwo(Two):
    def forward(self, x):
        return {"loss": self.a(x).sum(), "aux": self.b(x)}


class Index(Two):
    def forward(self, x):
        return self.a(x)[:, int(self.b(x).sum(0).argmax()) % 4]


class Number(Two):
    def forward(self, x):
        return self.a(x) * self.b(x).mean().item()


class Rounds(Two):
    def forward(self, x):
        return self.a(x) + self.b(x).round()


class Copied(Two):
    """The target network of BYOL."""

    def __init__(self):
        super().__init__()
        self.b = copy.deepcopy(self.a)

    def forward(self, x):
        with torch.no_grad():
            goal = self.b(x)
        return {"loss": (self.a(x) - 2 * goal).square().mean()}


class Recomputed(Two):
    """A reentrant checkpoint whose input needs no gradient."""

    def forward(self, x):
        return self.a(x) + checkpoint(self.b, x, use_reentrant=True)


REASONS = [
    (Unused, {"why": "unused_output", "layer": "b"}),
    (Never, {"why": "unused"}),
    (OneOfTwo, {"why": "other_output", "output": ".aux"}),
    (Index, {"why": "left", "operator": "argmax"}),
    (Number, {"why": "cut", "operator": "item"}),
    (Rounds, {"why": "rounding", "operator": "round"}),
    (Copied, {"why": "cut", "operator": "no_grad", "copy_of": "a"}),
    (Recomputed, {"why": "cut", "operator": "checkpoint", "kind": "checkpoint", "layer": ""}),
]


@pytest.mark.parametrize(("kind", "said"), REASONS, ids=[kind.__name__ for kind, _ in REASONS])
def test_each_reason_is_told_from_the_others(kind, said):
    def loss(out):
        return out["loss"] if isinstance(out, dict) else out.square().sum()

    model = kind()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of checkpoint
        (reason,), _, _ = followed(model, by_hand(model, loss))
    assert reason["cut_off"] == ["b"]
    assert said.items() <= reason.items()


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.detach().round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class StraightThrough(Two):
    def forward(self, x):
        y = self.a(x)
        return self.b(y + (y.round() - y).detach())


class OwnFunction(Two):
    def forward(self, x):
        return self.b(Straight.apply(self.a(x)))


class Siamese(Two):
    """SimSiam: the gradient is stopped on one side, and both sides share their weights."""

    def forward(self, x):
        one, two = self.a(x), self.a(x + 1)
        return (self.b(one) - two.detach()).square().mean(-1)


class Routed(Two):
    """A mixture of experts: the index is not differentiable, the weight is."""

    def forward(self, x):
        weight, index = self.b(x).softmax(-1).topk(1)
        return self.a(x).gather(1, index) * weight


class Masked(Two):
    def forward(self, x):
        y = self.a(x)
        with torch.no_grad():
            mask = y > 0
        return self.b(y.masked_fill(mask, 0.0)) + torch.arange(4) * y.shape[0]


class Checkpointed(Two):
    def __init__(self, *, reentrant):
        super().__init__()
        self.reentrant = reentrant

    def forward(self, x):
        return self.b(checkpoint(self.a, x.requires_grad_(), use_reentrant=self.reentrant))


FINE = [StraightThrough, OwnFunction, Siamese, Routed, Masked]


@pytest.mark.parametrize("kind", [kind.__name__ for kind in FINE])
def test_where_gradients_are_stopped_on_purpose_nothing_is_found(kind):
    report = hookcli.check(globals()[kind](), inputs=X)
    assert [row.rule for row in report.checks if row.status == "fail" and "grad" in row.rule] == []


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_is_no_cut(reentrant):
    _, found, _ = followed(Checkpointed(reentrant=reentrant), LostGradients())
    assert found == []


def test_the_verdict_says_which_operator_cuts_which_layer_off():
    from tests.rules.gradient_cuts import argmax

    report = hookcli.check(Chain(2, 1, argmax), inputs=X)
    (row,) = (row for row in report.checks if row.rule == "grad_path")
    place = f"tests/rules/gradient_cuts.py:{line_of(argmax)}"
    assert row.message == (
        f"'layers' is cut off from the loss: `argmax` at {place} in 'layers.1' (Layer) returns "
        "integers, which have no gradient, so 4 parameters get no gradient"
    )
    assert row.place == place
    assert row.severity == "warning"
    diagnosis = report.diagnoses[0]
    assert diagnosis.cause == "cut_off"
    assert set(diagnosis.rules) == {"grad_exists", "grad_path"}


def test_scripted_models_are_passed_over_with_a_reason():
    model = torch.jit.script(nn.Sequential(nn.Linear(4, 2), nn.ReLU(), nn.Linear(2, 2)))
    report = hookcli.check(model, [{"rule": "grad_cuts"}, {"rule": "connected", "at": "*"}],
                           inputs=X)  # fmt: skip
    rows = {row.rule: row for row in report.checks}
    for rule in ("grad_cuts", "connected"):
        assert rows[rule].status == "skip"
        assert "TorchScript" in rows[rule].message
