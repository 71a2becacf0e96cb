"""The part of a loss that is not finite is found in the source, and nothing else is blamed."""

from __future__ import annotations

import sys

import pytest
import torch
import torch.nn.functional as F  # its usual name
from torch import nn

from hookcli.training.non_finite.loss_expression import bad_part

ROWS = torch.arange(8.0).reshape(4, 2)


def asked(monkeypatch, loss_of):
    """Return what is found when a function calls backward."""
    seen = []
    with monkeypatch.context() as patch:
        note = lambda *_: seen.append(bad_part(sys._getframe(1)))  # noqa: E731
        patch.setattr(torch.Tensor, "backward", note)
        patch.setattr(Accelerator, "backward", note)
        loss_of(nn.Linear(2, 3)(ROWS))
    [found] = seen
    return found


def log_of_detached(out):
    scale = out.detach().mean() * 0 - 1
    loss = out.sum() * torch.log(scale)
    loss.backward()


def mean_without_weights(out):
    weights = torch.zeros(4)
    each = out.mean(1)
    loss = (each * weights).sum() / weights.sum()
    loss.backward()


def method_of_a_variable(out):
    width = torch.zeros(3)
    logs = width.log()
    total = out * logs
    loss = total.mean() * 2
    loss.backward()


def ignored_targets(out):
    target = torch.full((4,), -100)
    criterion = nn.CrossEntropyLoss()
    loss = criterion(out, target)
    loss.backward()


def functional(out):
    target = torch.full((4,), -100)
    loss = 0.5 * F.cross_entropy(out, target, reduction="mean")
    loss.backward()


def beside_an_unknown_call(out):
    loss = unknown(out) + (out.detach() * 0 - 4).sqrt().mean()
    loss.backward()


def of_a_loop(out):
    for weight in [torch.tensor([1.0, float("nan"), 2.0])]:
        loss = (out * weight).mean()
        loss.backward()


def scaled(out):
    loss = out.mean() / torch.zeros(())
    Scaler().scale(loss).backward()


def accelerated(out):
    accelerator = Accelerator()
    loss = out.mean() * torch.log(torch.zeros(()))
    accelerator.backward(loss)


def of_a_mask(out):
    mask = torch.tensor([True, False, False])
    loss = out.masked_fill(mask, float("-inf")).softmax(-1).log()[:, 1].mean() + unknown(out) / 0.0
    loss.backward()


def of_bad_outputs(out):
    out = out / 0
    loss = torch.log(out).mean()
    loss.backward()


def selected_after_the_log(out):
    logs = torch.log(torch.zeros(3))
    kept = torch.where(torch.ones(3) > 0, torch.ones(3), logs)
    loss = (out * kept).mean() / unknown(out * 0)
    loss.backward()


def assigned_again(out):
    count = torch.zeros(())
    loss = out.mean() / count
    count = torch.ones(())
    loss.backward()
    return count


def of_a_function(out):
    loss = unknown(out * 0) / len([])
    loss.backward()


def of_another_variable(out):
    unused = torch.log(torch.zeros(3))
    loss = unknown(out) + out.mean() * 0
    loss.backward()
    return unused


class Scaler:
    def scale(self, loss):
        return loss


class Accelerator:
    def backward(self, loss):
        loss.backward()


def unknown(out):
    return out.sum()


FOUND = {
    log_of_detached: ("torch.log", "torch.log(scale)", 2),
    mean_without_weights: ("torch.div", "(each * weights).sum() / weights.sum()", 3),
    method_of_a_variable: ("torch.log", "width.log()", 2),
    ignored_targets: ("torch.nn.functional.nll_loss", "criterion(out, target)", 3),
    functional: ("torch.nn.functional.nll_loss", "F.cross_entropy(", 2),
    beside_an_unknown_call: ("torch.sqrt", "(out.detach() * 0 - 4).sqrt()", 1),
    scaled: ("torch.div", "out.mean() / torch.zeros(())", 1),
    accelerated: ("torch.log", "torch.log(torch.zeros(()))", 2),
}


@pytest.mark.parametrize("loss_of", FOUND)
def test_the_part_is_named_with_its_line(monkeypatch, loss_of):
    operator, text, line = FOUND[loss_of]
    found = asked(monkeypatch, loss_of)
    assert (found.operator, found.phase, found.found_by) == (operator, "loss", "source")
    assert text in found.reason
    assert found.place.endswith(f"test_loss_expression.py:{loss_of.__code__.co_firstlineno + line}")
    assert found.cause is not None


def test_a_tensor_of_a_loop_is_named_with_the_place_of_its_value(monkeypatch):
    found = asked(monkeypatch, of_a_loop)
    assert found.reason == "`weight` of the loop contains NaN in 1 of 3 values at [1]"
    assert found.cause == "input"


@pytest.mark.parametrize(
    "loss_of", [of_a_mask, of_bad_outputs, selected_after_the_log, assigned_again, of_a_function,
                of_another_variable]
)  # fmt: skip
def test_what_is_not_shown_is_not_named(monkeypatch, loss_of):
    """Outputs that are not finite, values that a selection drops, and calls that are not known."""
    assert asked(monkeypatch, loss_of) is None


def test_nothing_of_the_training_changes(monkeypatch):
    ran, states = [], []

    def noisy(out):
        loss = (out * counted_call(ran, out)).mean() + torch.log(torch.zeros(()))
        states.append(torch.get_rng_state())
        loss.backward()
        states.append(torch.get_rng_state())

    assert asked(monkeypatch, noisy).operator == "torch.log"
    assert ran == [1]
    assert torch.equal(*states)


def counted_call(ran, out):
    ran.append(1)
    return out
