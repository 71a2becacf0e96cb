"""The part of a loss that is not finite is found in the source, and nothing else is blamed."""

from __future__ import annotations

import inspect
import sys

import pytest
import torch
import torch.nn.functional as F  # its usual name
from torch import nn

from hookcli.training.non_finite.loss_expression import bad_derivative, bad_part

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
    print(end="")  # it does something else than computing
    return out.sum()


def weighted(out, weights, *, power=1):
    """The weights may all be zero."""
    each = out.mean(1)
    if power == 1:
        total = weights.sum()
    else:
        raise ValueError
    each *= weights
    return each.sum() / total


class Distance(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, emb, labels):
        diff = emb[:, None] - emb[None]
        dist = diff.pow(2).sum(-1).sqrt()
        same = labels[:, None] == labels[None]
        return torch.where(same, dist, torch.relu(self.margin - dist)).mean()


def of_a_function_that_computes(out):
    loss = 2 * weighted(out, torch.zeros(4))
    loss.backward()


FOUND = {
    log_of_detached: ("torch.log", "torch.log(scale)", 2),
    mean_without_weights: ("torch.div", "(each * weights).sum() / weights.sum()", 3),
    method_of_a_variable: ("torch.log", "width.log()", 2),
    ignored_targets: ("torch.nn.functional.nll_loss", "criterion(out, target)", 3),
    functional: ("torch.nn.functional.nll_loss", "F.cross_entropy(", 2),
    beside_an_unknown_call: ("torch.sqrt", "(out.detach() * 0 - 4).sqrt()", 1),
    scaled: ("torch.div", "out.mean() / torch.zeros(())", 1),
    of_a_function_that_computes: ("torch.div", "each.sum() / total", None),
    accelerated: ("torch.log", "torch.log(torch.zeros(()))", 2),
}


@pytest.mark.parametrize("loss_of", FOUND)
def test_the_part_is_named_with_its_line(monkeypatch, loss_of):
    operator, text, line = FOUND[loss_of]
    found = asked(monkeypatch, loss_of)
    assert (found.operator, found.phase, found.found_by) == (operator, "loss", "source")
    assert text in found.reason
    if line is None:
        source, start = inspect.getsourcelines(weighted)
        number = start + next(i for i, row in enumerate(source) if text in row)
    else:
        number = loss_of.__code__.co_firstlineno + line
    assert found.place.endswith(f"test_loss_expression.py:{number}")
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


def derivative(loss, outputs=None):
    """What is found of the derivative after the line above it has called backward."""
    frame = sys._getframe(1)
    return bad_derivative(frame, frame.f_lineno - 1, float(loss.detach()), outputs)


def line_of(function, text):
    source, start = inspect.getsourcelines(function)
    return start + next(i for i, row in enumerate(source) if text in row)


def test_the_derivative_of_a_root_of_zero_is_named_in_a_module_of_the_script():
    labels, criterion, net = torch.tensor([0, 1, 0, 1]), Distance(), nn.Linear(2, 3)
    out = net(ROWS)
    loss = criterion(out, labels)
    loss.backward()
    found = derivative(loss)
    assert (found.phase, found.operator, found.cause) == (
        "backward",
        "torch.sqrt",
        "gradient_of_root",
    )
    assert found.reason.endswith("in `diff.pow(2).sum(-1).sqrt()`")
    assert found.place.endswith(f":{line_of(Distance.forward, '.sqrt()')}")
    assert all(torch.isnan(p.grad).any() for p in net.parameters())


def test_a_model_that_the_line_calls_is_not_called_again():
    labels, criterion, net = torch.tensor([0, 1, 0, 1]), Distance(), nn.Linear(2, 3)
    output = net(ROWS)
    calls = []
    net.register_forward_hook(lambda *_: calls.append(1))
    loss = criterion(net(ROWS), labels)
    loss.backward(retain_graph=True)
    assert derivative(loss) is None
    loss.backward()
    assert derivative(loss, {id(net): [output]}).operator == "torch.sqrt"
    assert calls == [1]


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_the_derivative_of_a_part_on_its_own_line_is_named(shift):
    net = nn.Linear(2, 3)
    out = net(ROWS) * 0 + shift
    part = (out - 1).abs().sum(1)
    loss = part.pow(0.5).mean()
    loss.backward()
    found = derivative(loss)
    assert (None if found is None else found.operator) == (None if shift == 0 else "torch.pow")


def test_another_loss_than_that_of_the_training_is_not_looked_at():
    net = nn.Linear(2, 3)
    out = net(ROWS) * 0
    loss = out.sqrt().sum()
    loss.backward(retain_graph=True)
    assert derivative(loss + 5) is None
    loss.backward()
    assert derivative(loss).cause == "gradient_of_root"
