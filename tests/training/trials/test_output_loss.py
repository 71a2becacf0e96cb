"""A loss as a function of outputs, against the loss that plain PyTorch computes of them."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.non_finite.generators import Generators
from hookcli.training.trials.output_loss import guess_of, loss_of_outputs

CLASSES = torch.tensor([0, 2, 1, 2])
PLACES = torch.arange(12).reshape(4, 3) % 5
BITS = (torch.arange(12) % 2).float()
VALUES = torch.linspace(-1, 1, 12).reshape(4, 3)

# A name, the shape of the output, and the loss.
LOSSES = {
    "cross_entropy": ((4, 3), lambda out: F.cross_entropy(out, CLASSES)),
    "weights and ignored": (
        (4, 3),
        lambda out: F.cross_entropy(
            out, CLASSES, torch.tensor([1.0, 2.0, 3.0]), ignore_index=0, reduction="sum"
        ),
    ),
    "of logarithms": ((4, 3), lambda out: F.nll_loss(out.log_softmax(1), CLASSES)),
    "of what is given": ((4, 3), lambda out: F.nll_loss(out, CLASSES)),
    "of tokens": ((4, 3, 5), lambda out: F.cross_entropy(out.reshape(-1, 5), PLACES.flatten())),
    "of tokens in time": (
        (3, 4, 5),
        lambda out: F.cross_entropy(out.transpose(0, 1).reshape(-1, 5), PLACES.flatten()),
    ),
    "of places": ((4, 3, 5), lambda out: F.cross_entropy(out.movedim(-1, 1), PLACES)),
    "of pixels": ((2, 5, 2, 3), lambda out: F.cross_entropy(out, PLACES.reshape(2, 2, 3))),
    "logits": ((12, 1), lambda out: F.binary_cross_entropy_with_logits(out.squeeze(1), BITS)),
    "weighted logits": (
        (12,),
        lambda out: F.binary_cross_entropy_with_logits(out, BITS, pos_weight=torch.tensor(3.0)),
    ),
    "mse": ((4, 3), lambda out: F.mse_loss(out, VALUES)),
    "l1": ((4, 3), lambda out: F.l1_loss(out, VALUES, reduction="sum")),
    "smooth_l1": ((4, 3), lambda out: F.smooth_l1_loss(out, VALUES, beta=0.3)),
    "huber": ((4, 3), lambda out: F.huber_loss(out, VALUES, delta=0.2)),
    "squares by hand": ((4, 3), lambda out: ((out - VALUES) ** 2).mean()),
    "squares of the negative": ((4, 3), lambda out: (VALUES - out).pow(2).mean()),
    "a part of the loss": ((4, 3), lambda out: F.mse_loss(out, VALUES) / 4),
    "the model's own": ((4, 3), None),
}  # fmt: skip


class Given(nn.Module):
    """Returns its weight, or its own loss."""

    def __init__(self, shape, own=None):
        super().__init__()
        self.weight, self.own = nn.Parameter(torch.randn(shape)), own

    def forward(self):
        return self.weight * 1 if self.own is None else self.own(self.weight)


def run(net):
    call = ForwardCall((), {}, Generators())
    out = net()
    call.end([out])
    return call, out


@pytest.mark.parametrize("name", LOSSES)
def test_the_function_is_that_of_the_script(name):
    shape, loss_of = LOSSES[name]
    own = (lambda w: F.mse_loss(w, VALUES)) if loss_of is None else None
    net = Given(shape, own)
    call, out = run(net)
    start = out if loss_of is None else loss_of(out)
    found = loss_of_outputs(start, call, [net()])
    factor = 4 if name == "a part of the loss" else 1
    assert math.isclose(found.of([net()]).item(), factor * start.item(), rel_tol=1e-5)
    with torch.no_grad():
        net.weight.copy_(torch.randn(shape))
    other = net()
    expected = other if loss_of is None else factor * loss_of(other)
    assert math.isclose(found.of([other]).item(), expected.item(), rel_tol=1e-5)
    [gradient] = torch.autograd.grad(found.of([other]), net.weight, retain_graph=True)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, net.weight)[0])


@pytest.mark.parametrize(
    "loss_of",
    [
        lambda out: F.mse_loss(out, VALUES) + out.square().mean(),
        lambda out: F.mse_loss(2 * out, VALUES),
        lambda out: (2 * out - VALUES).square().mean(),
        lambda out: F.cross_entropy(out / 0.1, CLASSES),
        lambda out: out.square().sum(),
        lambda out: (out - VALUES).abs().mean(1).sum(),
    ],
    ids=["two terms", "scaled", "scaled by hand", "of a temperature", "a sum", "in two steps"],
)
def test_what_is_not_known_is_no_function(loss_of):
    net = Given((4, 3))
    call, out = run(net)
    assert loss_of_outputs(loss_of(out), call, [net()]) is None


def test_what_was_changed_in_place_is_not_known():
    net, target = Given((4, 3)), VALUES.clone()
    call, out = run(net)
    start = F.mse_loss(out, target)
    target.zero_()
    assert loss_of_outputs(start, call, [net()]) is None


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("cross_entropy", math.log(3)),
        ("of pixels", math.log(5)),
        ("logits", math.log(2)),
        ("mse", None),
        ("squares by hand", None),
    ],
)
def test_the_loss_of_a_guess(name, guess):
    shape, loss_of = LOSSES[name]
    assert guess_of(loss_of(Given(shape)())) == guess
