"""Terms of a loss that have no gradient."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli

X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


class Losses(nn.Module):
    """Returns the loss that a function computes from the outputs of two networks."""

    def __init__(self, loss):
        super().__init__()
        self.net, self.teacher, self.loss = nn.Linear(8, 3), nn.Linear(8, 3), loss

    def forward(self, x):
        return {"loss": self.loss(self, x)}


def found(loss):
    report = hookcli.check(Losses(loss), inputs=X)
    return [row for row in report.diagnoses if row.cause == "constant_loss_term"]


def base(model, x):
    return F.cross_entropy(model.net(x), torch.zeros(4, dtype=torch.long))


def detached(model, x):
    return base(model, x) + 0.5 * model.net(x).detach().pow(2).mean()


def rounded(model, x):
    return base(model, x) - 0.1 * (model.net(x).argmax(1) == 0).float().mean()


def number(model, x):
    return base(model, x) + model.net(x).pow(2).mean().item()


def penalty(model, x):
    x = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad(model.net(x).sigmoid().sum(), x)
    return base(model, x) + (grad.norm(dim=1) - 1).pow(2).mean()


@pytest.mark.parametrize(
    ("loss", "words", "advice"),
    [
        (detached, "test_loss_terms.py:36 ends the", "remove `detach`"),
        (rounded, "returns integers", "use a differentiable form"),
        (number, "turns the tensor into Python numbers", "keep the value a tensor"),
        (penalty, "without `create_graph=True`", "pass `create_graph=True`"),
    ],
)
def test_a_term_that_trains_nothing_is_found(loss, words, advice):
    (row,) = found(loss)
    assert "it is computed from 'net', but " in row.sentence
    assert words in row.sentence
    assert row.advice.startswith(advice)


def in_parts(model, x):
    return sum([base(model, x), model.net(x).pow(2).mean()])


def own_value(model, x):
    """The value of one loss, and the gradient of another one."""
    loss = base(model, x)
    return loss + (model.net(x).abs().mean() - loss).detach()


def entropy_of_teacher(model, x):
    with torch.no_grad():
        target = model.teacher(x).softmax(-1)
    cross = -(target * model.net(x).log_softmax(-1)).sum(-1).mean()
    return cross + (target * target.log()).sum(-1).mean()


def given(model, x):
    return base(model, x) + x.pow(2).mean() + 1e-6


def with_graph(model, x):
    x = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad(model.net(x).sigmoid().sum(), x, create_graph=True)
    return base(model, x) + (grad.norm(dim=1) - 1).pow(2).mean()


def quantized(model, x):
    """A part of a larger model: one term trains what computes the input."""
    z_q = model.net.weight[:, 0].expand(4, 3)
    return F.mse_loss(z_q.detach(), x[:, :3]) + F.mse_loss(z_q, x[:, :3].detach())


@pytest.mark.parametrize(
    "loss", [in_parts, quantized, own_value, entropy_of_teacher, given, with_graph]
)
def test_a_term_with_a_gradient_or_without_trained_parameters_passes(loss):
    assert found(loss) == []
