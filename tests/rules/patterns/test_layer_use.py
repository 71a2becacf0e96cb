"""How layers use each other's results: what is found, and what only looks like it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli
from tests.rules.patterns.test_common_models import found

# Channels


class Pooled(nn.Module):
    """Frames that `pool` reduces before a linear layer."""

    def __init__(self, pool, inputs=8, norm=True):
        super().__init__()
        self.conv, self.pool = nn.Conv1d(3, 8, 3, padding=1), pool
        self.norm = nn.BatchNorm1d(8) if norm else nn.Identity()
        self.head = nn.Linear(inputs, 4)

    def forward(self, x):
        return self.head(self.pool(torch.relu(self.norm(self.conv(x)))))


def statistics(x, dim):
    return torch.cat([x.mean(dim), (x.var(dim) + 1e-5).sqrt()], 1)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Pooled(lambda x: x.mean(1), 6), "a mean is over dimension 1 of [4, 8, 6], the 8 channels "
         "of 'norm', not over dimension 2"),
        (Pooled(lambda x: x.mean(-2), 6, norm=False), "the 8 channels of 'conv', not"),
        (Pooled(lambda x: statistics(x, 1), 12), "the 8 channels of 'norm', not"),
        (Pooled(lambda x: x.std(1), 6), "a standard deviation is over dimension 1 of [4, 8, 6]"),
    ],
)  # fmt: skip
def test_a_mean_over_channels_before_a_linear_layer_is_a_note(model, message):
    [row] = found(model, torch.randn(4, 3, 6), "pooled_channels")
    assert row.severity == "note"
    assert message in row.message


@pytest.mark.parametrize(
    "model",
    [
        Pooled(lambda x: x.mean(2)),
        Pooled(lambda x: statistics(x, 2), 16),
        Pooled(lambda x: x.transpose(1, 2).mean(1)),
        Pooled(lambda x: (x * x.mean(1, keepdim=True).sigmoid()).mean(2)),  # spatial attention
        Pooled(lambda x: (x * x.mean(1).sigmoid()[:, None]).mean(2)),
        Pooled(lambda x: x.mean((1, 2))[:, None].expand(4, 8)),
    ],
)
def test_other_means_are_fine(model):
    assert found(model, torch.randn(4, 3, 6), "pooled_channels") == []


# Layers that are called several times


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.act = nn.Conv2d(3, 3, 3, padding=1), nn.PReLU()
        self.block = nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU())


class Again(Layers):
    def forward(self, x):
        x = self.act(self.conv(x))
        x = self.act(self.conv(x))
        return self.conv(x) + x


class Loop(Layers):
    def forward(self, x):
        for _ in range(3):
            x = self.act(self.conv(x))
        return x


class Siamese(Layers):
    def forward(self, x):
        first = self.conv(x)
        second = self.conv(x.flip(-1))
        return self.act(first) * self.act(second)


class FirstAndLoop(Layers):
    def forward(self, x):
        x = self.conv(x)
        for _ in range(2):
            x = self.conv(self.act(x))
        return x


class Blocks(Layers):
    """Blocks and activations are shared on purpose more often than layers."""

    def forward(self, x):
        x = self.act(self.block(x))
        x = self.act(self.block(x))
        return self.conv(x)


class ManyLines(Layers):
    def forward(self, x):
        x = self.conv(x)
        x = self.conv(x)
        x = self.conv(x)
        x = self.conv(x)
        x = self.conv(x)
        for _ in range(8):
            x = self.conv(x)
        return x


class Inverse(Layers):
    """A function and its inverse call a layer, as in a reversible block."""

    def forward(self, x):
        y = self.conv(x)
        return self.inverse(y)

    def inverse(self, y):
        return y - self.conv(y)


IMAGES = torch.randn(2, 3, 8, 8)


def test_a_layer_that_is_called_at_several_lines_in_a_row_is_a_note():
    [row] = found(Again(), IMAGES, "reused_layer")
    line = Again.forward.__code__.co_firstlineno
    assert (row.severity, row.target, row.message) == (
        "note", "conv", f"'conv' (Conv2d) runs 3 times in one forward, called at lines {line + 1}, "
        f"{line + 2} and {line + 3}: these calls share one weight",
    )  # fmt: skip


@pytest.mark.parametrize(
    "model", [Loop(), Siamese(), FirstAndLoop(), Blocks(), ManyLines(), Inverse()]
)
def test_other_calls_of_one_layer_are_fine(model):
    report = hookcli.check(model, inputs=IMAGES)
    assert [row for row in report.checks if row.rule == "reused_layer"] == []
    assert "reused_layer" in report.examined
