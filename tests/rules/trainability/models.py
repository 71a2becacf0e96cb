"""What the tests of rules about training share."""

from __future__ import annotations

import torch
from torch import nn


class Do(nn.Module):
    """Applies a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def only(report):
    """The only row of a check with one rule."""
    (row,) = report.checks
    return row


def state_of(model):
    """Everything that a run could change, as bits."""
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {
        **{name: tensor.detach().clone() for name, tensor in tensors.items()},
        "rng": torch.get_rng_state(),
    }


def assert_same(before, after):
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name
