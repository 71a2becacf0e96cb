"""Outputs that depend on how much padding follows a sample, beside those that do not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli

LENGTHS = torch.tensor([2, 4, 6, 8, 10, 12])
SEEN = torch.arange(12)[None] < LENGTHS[:, None]
TOKENS = torch.randint(1, 50, (6, 12), generator=torch.Generator().manual_seed(0)) * SEEN
VALUES = torch.randn(6, 12, 8, generator=torch.Generator().manual_seed(0)) * SEEN[..., None]


class Reader(nn.Module):
    """Vectors of tokens, what a function of the model makes of them, and a linear layer."""

    def __init__(self, function, layer=None):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.head = nn.Embedding(50, 8, padding_idx=0), nn.Linear(8, 3)
        self.layer, self.function = layer, function

    def forward(self, tokens, mask=None):
        return self.head(self.function(self, self.embed(tokens), tokens != 0, mask))


def attention():
    torch.manual_seed(0)
    return nn.MultiheadAttention(8, 2, batch_first=True)


def mean(net, x, seen, mask):
    return (x + 1).mean(1)


def mean_of_seen(net, x, seen, mask):
    return ((x + 1) * seen[..., None]).sum(1) / seen.sum(1, keepdim=True)


def largest(net, x, seen, mask):
    return (x - 1).max(1).values


def attended(net, x, seen, mask):
    hidden = None if mask is None else ~mask
    return net.layer(x, x, x, key_padding_mask=hidden, need_weights=False)[0]


def attended_without_mask(net, x, seen, mask):
    return net.layer(x, x, x, need_weights=False)[0]


def found(model, *inputs):
    report = hookcli.check(model, inputs=inputs, rules=["padding_effect"])
    return [row for row in report.checks if row.status == "fail"]


@pytest.mark.parametrize(
    ("model", "inputs", "severity"),
    [
        (Reader(mean), (TOKENS,), "note"),
        (Reader(mean), (TOKENS, SEEN), "warning"),
        (Reader(attended_without_mask, attention()), (TOKENS, SEEN.long()), "warning"),
    ],
)
def test_padding_that_counts_is_found(model, inputs, severity):
    (row,) = found(model, *inputs)
    assert row.severity == severity
    assert "depends on how much padding follows a sample" in row.message
    assert "with 2 more positions of padding (the token 0)" in row.message


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (Reader(mean_of_seen), (TOKENS,)),
        (Reader(largest), (TOKENS,)),  # padding is among the largest already
        (Reader(attended, attention()), (TOKENS, SEEN)),
        (Reader(lambda net, x, seen, mask: x), (TOKENS,)),
        (Reader(mean), (torch.randint(1, 50, (6, 12)),)),  # without padding
        (Reader(mean), (TOKENS.flip(1),)),  # in front
    ],
)
def test_padding_that_does_not_count_is_not_accused(model, inputs):
    assert found(model, *inputs) == []


class TimeFirst(Reader):
    def forward(self, tokens, mask=None):
        given = None if mask is None else mask.t()
        return super().forward(tokens.t(), given)


@pytest.mark.parametrize(
    ("model", "inputs", "severity"),
    [
        (TimeFirst(mean), (TOKENS.t(),), "note"),
        (TimeFirst(mean), (TOKENS.t(), SEEN.t()), "warning"),
        (TimeFirst(mean_of_seen), (TOKENS.t(), SEEN.t()), None),
    ],
)
def test_time_may_be_in_dimension_0(model, inputs, severity):
    assert [row.severity for row in found(model, *inputs)] == [severity] * (severity is not None)


class Last(nn.Module):
    def __init__(self, *, less):
        super().__init__()
        torch.manual_seed(0)
        self.rnn, self.less = nn.GRU(8, 4, batch_first=True), less

    def forward(self, x, lengths):
        y, _ = self.rnn(x)
        index = (lengths - self.less).clamp(max=y.size(1) - 1)
        return y.gather(1, index[:, None, None].expand(-1, 1, 4))[:, 0]


@pytest.mark.parametrize(("less", "count"), [(0, 1), (1, 0)])
def test_the_change_is_that_of_plain_pytorch(less, count):
    model = Last(less=less)
    rows = found(model, VALUES, LENGTHS)
    assert len(rows) == count
    longer = torch.cat([VALUES, torch.zeros(6, 2, 8)], 1)
    with torch.no_grad():
        before, after = model.eval()(VALUES, LENGTHS), model(longer, LENGTHS)
    change = float((after - before).abs().max() / before.abs().max())
    assert (change > 1e-3) == bool(count)
    assert all(row.value == pytest.approx(change, rel=1e-2) for row in rows)


class Limited(Reader):
    def forward(self, tokens, mask=None):
        if tokens.size(1) > 12:
            raise ValueError("too long")
        return super().forward(tokens, mask)


def test_a_model_of_one_length_is_not_judged():
    report = hookcli.check(Limited(mean), inputs=(TOKENS,), rules=["padding_effect"])
    (row,) = [row for row in report.checks if row.rule == "padding_effect"]
    assert (row.status, row.message) == (
        "skip", "more positions failed: ValueError: too long",
    )  # fmt: skip
