"""Rotary embeddings whose angles differ along heads in place of positions."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli


def angles(count, size):
    frequencies = 1 / 100 ** (torch.arange(0, size, 2) / size)
    return torch.outer(torch.arange(count).float(), frequencies)


def halves(x, count):
    """The rotation of the two halves of the last dimension."""
    whole = torch.cat([angles(count, x.shape[-1])] * 2, -1)
    one, other = x.chunk(2, -1)
    return x * whole.cos() + torch.cat([-other, one], -1) * whole.sin()


def pairs(x, count):
    """The rotation of neighbouring values, each pair in two parts."""
    turned, (one, other) = angles(count, x.shape[-1]), (x[..., ::2], x[..., 1::2])
    first = one * turned.cos() - other * turned.sin()
    second = one * turned.sin() + other * turned.cos()
    return torch.stack([first, second], -1).flatten(-2)


def complexes(x, count):
    """The rotation as a product with complex numbers of size 1."""
    turned = torch.polar(torch.ones(()), angles(count, x.shape[-1]))
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turned).flatten(-2)


class Attention(nn.Module):
    """Attention of 3 heads over 7 positions, rotated before or after they are swapped."""

    def __init__(self, rotate, *, early):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.inner, self.out = nn.Embedding(20, 24), nn.Linear(24, 72), nn.Linear(24, 5)
        self.rotate, self.early = rotate, early

    def forward(self, tokens):
        q, k, v = self.inner(self.words(tokens)).unflatten(-1, (9, 8)).chunk(3, 2)
        if self.early:  # [samples, positions, heads, values]
            q, k = (self.rotate(one, one.shape[-2]) for one in (q, k))
        q, k, v = (one.transpose(1, 2) for one in (q, k, v))
        if not self.early:
            q, k = (self.rotate(one, one.shape[-2]) for one in (q, k))
        done = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(done.transpose(1, 2).flatten(2))


def found(model, tokens):
    report = hookcli.check(model, inputs=tokens)
    return [row.message for row in report.checks
            if (row.rule, row.status) == ("position_effect", "fail")]  # fmt: skip


TOKENS = torch.randint(0, 20, (4, 7), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("rotate", [halves, pairs, complexes])
def test_angles_that_differ_along_heads_are_found(rotate):
    [message] = found(Attention(rotate, early=True), TOKENS)
    assert message.startswith("a rotary embedding of [4, 7, 3, ")
    assert "along dimension 2, and not along the 7 positions in dimension 1" in message
    assert found(Attention(rotate, early=False), TOKENS) == []


def test_as_many_heads_as_positions_are_not_judged():
    assert found(Attention(halves, early=True), TOKENS[:, :3]) == []


def scaled(x, count):
    """A product along heads that is no rotation."""
    factors = torch.linspace(0.5, 1.5, count)[:, None]
    return x * factors + x.flip(-1) * factors


def test_other_factors_of_heads_are_no_rotation():
    assert found(Attention(scaled, early=True), TOKENS) == []
