"""`initial_loss` and `double_softmax`: what the graph of a loss tells is what torch computes."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn
from torch.nn import functional as F

import hookcli
from tests.rules.trainability.models import Do, only


def judged(function, loss, rule, *, out=6, config=None):
    """Judge one rule on a model that applies a function to the output of a Linear of 8 features."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, out), Do(function))
    inputs = torch.randn(5, 8, generator=torch.Generator().manual_seed(1))
    return hookcli.check(model, config, inputs=inputs, rules=[rule], loss=loss)


def terms(report):
    return [one.value for one in report.measurements if one.probe == "loss_terms"]


def targets(shape, classes, seed=0):
    return torch.randint(0, classes, shape, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=25, deadline=None)
@given(
    classes=st.integers(2, 6),
    places=st.sampled_from([(), (3,), (2, 2)]),
    reduction=st.sampled_from(["mean", "sum"]),
    weighted=st.booleans(),
    ignored=st.booleans(),
    scale=st.sampled_from([0.1, 1.0, 4.0]),
)
def test_the_mean_of_a_cross_entropy_is_torchs(
    classes, places, reduction, weighted, ignored, scale
):
    aims = targets((5, *places), classes)
    if ignored:
        aims.view(-1)[0] = -100
    weight = torch.linspace(0.5, 2, classes) if weighted else None
    size = classes * math.prod(places)
    kept = []

    def loss(output):
        logits = scale * output.view(5, classes, *places)
        kept.append(logits.detach())
        return 3 * F.cross_entropy(logits, aims, weight, reduction=reduction)

    (term,) = terms(judged(lambda x: x, loss, "initial_loss", out=size))
    assert term["loss"] == pytest.approx(F.cross_entropy(kept[0], aims, weight).item(), rel=1e-5)
    zeros = F.cross_entropy(torch.zeros_like(kept[0]), aims, weight)
    assert term["chance"] == pytest.approx(zeros.item(), rel=1e-5)
    assert term["targets"] == int((aims >= 0).sum())
    every = [
        F.cross_entropy(kept[0], torch.full_like(aims, c), reduction="none") for c in range(classes)
    ]
    spread = torch.stack(every).var(0, correction=0).mean().sqrt()
    assert term["spread"] == pytest.approx(spread.item(), rel=1e-4)
    assert term["random"] == pytest.approx(torch.stack(every).mean().item(), rel=1e-5)


@pytest.mark.parametrize("logits", [True, False])
@pytest.mark.parametrize("factor", [None, 3.0])
def test_the_mean_of_a_binary_cross_entropy_is_torchs(logits, factor):
    aims = targets((5, 6), 2).float()
    weight = torch.tensor(factor) if factor and logits else None
    kept = []

    def loss(output):
        kept.append(output.detach())
        if logits:
            return F.binary_cross_entropy_with_logits(output, aims, pos_weight=weight)
        return F.binary_cross_entropy(output.sigmoid(), aims)

    (term,) = terms(judged(lambda x: x, loss, "initial_loss"))
    true = F.binary_cross_entropy_with_logits(kept[0], aims, pos_weight=weight)
    guess = F.binary_cross_entropy_with_logits(torch.zeros(5, 6), aims, pos_weight=weight)
    assert term["loss"] == pytest.approx(true.item(), rel=1e-5)
    assert term["chance"] == pytest.approx(guess.item(), rel=1e-5)


@pytest.mark.parametrize(
    ("scale", "kind"),
    [(1.0, None), (0.01, None), (100.0, "far above the 1.792 of a guess among 6")],
)
def test_a_loss_that_starts_far_above_a_guess_is_found(scale, kind):
    aims = targets((5,), 6)
    report = judged(lambda x: x * scale, lambda y: F.cross_entropy(y, aims), "initial_loss")
    row = only(report)
    assert row.status == ("pass" if kind is None else "fail")
    assert kind is None or kind in row.message


def test_a_model_that_knows_the_target_starts_below_a_guess():
    aims = targets((5,), 6)
    known = 20.0 * F.one_hot(aims, 6)
    report = judged(lambda x: x + known, lambda y: F.cross_entropy(y, aims), "initial_loss")
    assert "far below the 1.792" in only(report).message


def test_a_binary_loss_with_the_bias_of_a_rare_class_is_fine():
    aims = torch.zeros(5, 6)
    loss = lambda y: F.binary_cross_entropy_with_logits(y - 4.0, aims)  # noqa: E731
    assert only(judged(lambda x: x, loss, "initial_loss")).status == "pass"


@pytest.mark.parametrize(
    ("check", "status"),
    [({"classes": 6}, "pass"), ({"classes": 2}, "fail"), ({"expected": 1.8}, "pass"),
     ({"expected": 1.8, "tolerance": 1e-9}, "fail"), ({}, "skip")],
)  # fmt: skip
def test_a_loss_of_the_users_is_compared_with_the_options(check, status):
    loss = lambda y: y.sum() * 0 + math.log(6)  # noqa: E731
    report = judged(lambda x: x, loss, "initial_loss", config=[{"rule": "initial_loss", **check}])
    assert only(report).status == status


AIMS = targets((5,), 6)
LONG = targets((5, 3), 2)
LABELS = torch.eye(3).repeat(2, 1)  # of six samples
SHARES = torch.softmax(torch.randn(5, 6, generator=torch.Generator().manual_seed(2)), 1)


@pytest.mark.parametrize(
    ("function", "loss", "gets"),
    [
        (lambda x: x.softmax(1), lambda y: F.cross_entropy(y, AIMS), "softmax"),
        (lambda x: x.softmax(-1), lambda y: F.cross_entropy(y, SHARES), "softmax"),
        (
            lambda x: x.softmax(1),
            lambda y: F.cross_entropy(y, AIMS, label_smoothing=0.1),
            "softmax",
        ),
        (
            lambda x: x.softmax(1).double(),
            lambda y: 2 * F.cross_entropy(y[1:], AIMS[1:]),
            "softmax",
        ),
        (
            lambda x: x.view(5, 3, 2).softmax(-1),
            lambda y: F.cross_entropy(y.transpose(1, 2), LONG),
            "softmax",
        ),
        (
            lambda x: x.view(5, 3, 2).softmax(-1),
            lambda y: F.cross_entropy(y[:, 1:].reshape(-1, 2), LONG[:, 1:].reshape(-1)),
            "softmax",
        ),
        (lambda x: x.softmax(1), lambda y: F.nll_loss(y, AIMS), "softmax"),
        (
            lambda x: x.sigmoid(),
            lambda y: F.binary_cross_entropy_with_logits(y, SHARES),
            "sigmoid",
        ),
        (lambda x: x.softmax(1), lambda y: F.cross_entropy(y @ LABELS, AIMS % 3), "softmax"),
        (lambda x: x.softmax(1), lambda y: F.cross_entropy(y @ LABELS * 2, AIMS % 3), None),
        (lambda x: x.softmax(1), lambda y: F.cross_entropy(y @ (LABELS - 1), AIMS % 3), None),
        (lambda x: x, lambda y: F.cross_entropy(y @ LABELS, AIMS % 3), None),
        (lambda x: x, lambda y: F.cross_entropy(y, AIMS), None),
        (lambda x: x.log_softmax(1) - 1, lambda y: F.nll_loss(y, AIMS), None),
        (lambda x: x.log_softmax(1), lambda y: F.cross_entropy(y, AIMS), None),
        (lambda x: x.log_softmax(1), lambda y: F.nll_loss(y, AIMS), None),
        (lambda x: x.softmax(1), lambda y: F.nll_loss(y.log(), AIMS), None),
        (lambda x: x.softmax(1) * 5, lambda y: F.cross_entropy(y, AIMS), None),
        (lambda x: x.softmax(0), lambda y: F.cross_entropy(y, AIMS), None),
        (
            lambda x: x[:, :5].softmax(0),
            lambda y: F.cross_entropy(y, AIMS.clamp(max=4)),
            None,
        ),
        (lambda x: x.sigmoid(), lambda y: F.binary_cross_entropy(y, SHARES), None),
        (lambda x: x.sigmoid(), lambda y: F.cross_entropy(y, AIMS), "sigmoid"),
        (lambda x: x.tanh(), lambda y: F.cross_entropy(y, AIMS), "tanh"),
        (lambda x: x.tanh() * 5, lambda y: F.cross_entropy(y, AIMS), None),
        (lambda x: x.softmax(1), lambda y: (y - SHARES).square().mean(), None),
    ],
)  # fmt: skip
def test_probabilities_in_the_place_of_logits_are_found(function, loss, gets):
    report = judged(function, loss, "double_softmax")
    row = only(report)
    assert row.status == ("pass" if gets is None else "fail"), row.message
    if gets is not None:
        assert f"the {gets} of '1' instead of" in row.message
        assert row.target == "1"


@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_the_floor_of_a_double_softmax_is_the_loss_of_a_certain_prediction(classes):
    aims = torch.zeros(5, dtype=torch.int64)
    report = judged(
        lambda x: x.softmax(1), lambda y: F.cross_entropy(y, aims), "double_softmax", out=classes
    )
    certain = F.cross_entropy(F.one_hot(aims, classes).double(), aims).item()
    assert only(report).message.endswith(f"cannot fall below {certain:.3g}")


def test_a_double_softmax_is_a_diagnosis_of_grads():
    net = nn.Sequential(nn.Linear(8, 6), nn.Softmax(1))
    report = hookcli.grads(net, torch.randn(5, 8), loss=lambda y: F.cross_entropy(y, AIMS))
    assert [one.cause for one in report.diagnoses] == ["double_softmax"]


def test_reading_the_graph_fires_no_hook_of_saved_tensors():
    """The hooks unpack a tensor for backward only, as without the rule."""
    net = nn.Sequential(nn.Linear(8, 6))
    config = {
        "hooks": [{"kind": "saved_tensors", "do": "record"}],
        "checks": [{"rule": "initial_loss"}],
    }
    inputs, loss = torch.randn(5, 8), lambda y: F.cross_entropy(y, AIMS)
    report = hookcli.check(net, config, inputs=inputs, loss=loss)
    packed, unpacked = ([e.node for e in report.events].count(n) for n in ("pack", "unpack"))
    assert 0 < unpacked <= packed
    assert [row.status for row in report.checks if row.rule == "initial_loss"] == ["skip"]


def test_the_verdict_has_what_a_check_of_another_rule_saw():
    net = nn.Sequential(nn.Linear(8, 6), nn.Softmax(1))
    loss = lambda y: F.cross_entropy(y, AIMS)  # noqa: E731
    report = hookcli.check(net, inputs=torch.randn(5, 8), rules=["finite"], loss=loss)
    assert [row.rule for row in report.checks] == ["finite"]
    assert [one.cause for one in report.diagnoses] == ["double_softmax"]


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_gets_log_probabilities(zero_infinity):
    def loss(logs):
        sizes = torch.tensor([len(logs)]), torch.tensor([1])
        return F.ctc_loss(logs, torch.tensor([[1]]), *sizes, zero_infinity=zero_infinity)

    def of(make):
        return only(judged(lambda x: make(x).unsqueeze(1), loss, "double_softmax"))

    assert of(lambda x: x.log_softmax(-1)).status == "pass"
    assert of(lambda x: x).message.startswith("ctc_loss gets logits instead of log-probabilities")
    assert of(lambda x: x.softmax(-1)).message.startswith("ctc_loss gets the softmax")


def test_logits_in_the_place_of_log_probabilities_are_found():
    row = only(judged(lambda x: x, lambda y: F.nll_loss(y, AIMS), "double_softmax"))
    assert row.status == "fail"
    assert row.message.startswith("nll_loss gets logits instead of log-probabilities")
