"""Positions along the batch and last steps of padding, each beside the model that it resembles."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli


def found(model, inputs, rule):
    report = hookcli.check(model, inputs=inputs)
    return [row for row in report.checks if (row.rule, row.status) == (rule, "fail")]


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("pe", torch.randn(50, 1, 16))

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class PositionsOfSteps(Positions):
    def forward(self, x):
        return x + self.pe[: x.size(1)].transpose(0, 1)


class Encoder(nn.Module):
    def __init__(self, positions, batch_first):
        super().__init__()
        self.positions = positions
        self.attention = nn.MultiheadAttention(16, 2, batch_first=batch_first)

    def forward(self, x):
        x = self.positions(x)
        return self.attention(x, x, x, need_weights=False)[0]


class Turned(Encoder):
    """Positions are added where dimension 0 is the sequence."""

    def forward(self, x):
        x = self.positions(x.transpose(0, 1)).transpose(0, 1)
        return self.attention(x, x, x, need_weights=False)[0]


@pytest.mark.parametrize(
    ("model", "is_found"),
    [
        (Encoder(Positions(), batch_first=True), True),
        (Encoder(PositionsOfSteps(), batch_first=True), False),
        (Encoder(Positions(), batch_first=False), False),
        (Turned(Positions(), batch_first=True), False),
    ],
)
def test_positions_that_are_taken_along_the_batch(model, is_found):
    rows = found(model, torch.randn(4, 9, 16), "batch_positions")
    assert [row.target for row in rows] == ["positions"] * is_found
    if is_found:
        x = torch.zeros(4, 9, 16)  # by plain PyTorch: all positions of a sample are the same
        moved = model.positions(x)
        assert torch.equal(moved[:, :1].expand_as(moved), moved)
        assert rows[0].message.startswith(
            "the positions 'positions.pe' are taken along dimension 0 of [4, 9, 16], the batch, as "
            "'attention' reads it"
        )


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(5, 8, batch_first=True), nn.Linear(8, 2)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


class AllSteps(Last):
    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out)


class Packed(Last):
    def forward(self, x):
        lengths = (x != 0).any(2).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
        out, _ = self.lstm(packed)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return self.head(out[:, -1])


class Tokens(Last):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 5)

    def forward(self, ids):
        out = self.lstm(self.embed(ids))[0]
        return self.head(out[:, -1])


def padded(lengths, *features, value=0):
    x = (
        torch.randint(1, 9, (len(lengths), 10))
        if not features
        else torch.randn(len(lengths), 10, 5)
    )
    for row, length in zip(x, lengths, strict=True):
        row[length:] = value
    return x


@pytest.mark.parametrize(
    ("model", "batch", "is_found"),
    [
        (Last, padded([3, 10, 5, 7, 2], 5), True),
        (Last, padded([10] * 5, 5), False),
        (Last, padded([6] * 5, 5), False),  # all of one length: zeros may be meant
        (AllSteps, padded([3, 10, 5, 7, 2], 5), False),
        (Packed, padded([3, 10, 5, 7, 2], 5), False),
        (Tokens, padded([3, 10, 5, 7, 2]), True),
        (Tokens, padded([10] * 5), False),
        (Tokens, padded([3, 10, 5, 7, 2]) * torch.tensor([1, 0] * 5), False),  # events are rare
    ],
)
def test_the_last_step_of_padding(model, batch, is_found):
    rows = found(model(), batch, "padded_steps")
    assert [row.target for row in rows] == ["lstm"] * is_found
    if is_found and batch.dim() == 3:
        assert "4 of 5 end with padding (zeros)" in rows[0].message
