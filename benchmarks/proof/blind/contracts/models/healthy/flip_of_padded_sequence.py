r"""Reads every sequence from its end to its start.

Source: https://docs.pytorch.org/docs/stable/generated/torch.flip.html
Healthy: the right twin of the broken case of this name.
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
        steps = torch.arange(x.size(1), device=x.device)
        index = (lengths[:, None] - 1 - steps[None]).clamp(min=0)
        x = x.gather(1, index.unsqueeze(-1).expand_as(x))
        h, _ = self.rnn(torch.tanh(self.inp(x)))
        last = h[torch.arange(x.size(0), device=x.device), lengths - 1]
        return self.out(last)


def make_batch():
    lengths = torch.tensor([3, 12, 6, 9, 4, 7])
    x = torch.randn(6, 12, 5)
    x[torch.arange(12)[None] >= lengths[:, None]] = 0
    return x, lengths


torch.manual_seed(0)
model = BackwardReader()
example_inputs = (*make_batch(),)
