r"""Reads every sequence from its end to its start.

Source: https://docs.pytorch.org/docs/stable/generated/torch.flip.html
Fault: The padded sequence is flipped as a whole, so the backward RNN first reads all padding
    before the data.
Cause: pad|length|flip|revers\w*|mask
"""

import torch
import torch.nn as nn


class BackwardReader(nn.Module):
    """Reads every sequence from its end to its start."""

    def __init__(self, features=5, hidden=20, out=3):
        super().__init__()
        self.inp = nn.Linear(features, 16)
        self.rnn = nn.GRU(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, out)

    def forward(self, x, lengths):
        x = x.flip(1)
        h, _ = self.rnn(torch.tanh(self.inp(x)))
        last = h[:, -1]
        return self.out(last)


def make_batch():
    lengths = torch.tensor([3, 12, 6, 9, 4, 7])
    x = torch.randn(6, 12, 5)
    x[torch.arange(12)[None] >= lengths[:, None]] = 0
    return x, lengths


torch.manual_seed(0)
model = BackwardReader()
example_inputs = (*make_batch(),)
