r"""Predicts every value of a series from the values before it.

Source: https://docs.pytorch.org/docs/stable/generated/torch.roll.html
Fault: The decoder input is shifted with torch.roll, which wraps the last target around to the
    first position.
Cause: roll|wrap\w*|circular|cyclic|futur|last (token|target|step|element).*(first|start|begin)
    |leak
"""

import torch
import torch.nn as nn


class AutoregressiveFlow(nn.Module):
    """Predicts every value of a series from the values before it."""

    def __init__(self, features=3, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, batch_first=True)
        self.mean = nn.Linear(hidden, features)
        self.log_scale = nn.Linear(hidden, features)

    def shift(self, x):
        return torch.roll(x, shifts=1, dims=1)

    def forward(self, x):
        h, _ = self.rnn(self.shift(x))
        s = torch.tanh(self.log_scale(h))
        z = (x - self.mean(h)) * torch.exp(-s)
        return (0.5 * z.pow(2) + s).sum(dim=-1).mean(dim=1)


torch.manual_seed(0)
model = AutoregressiveFlow()
example_inputs = (torch.randn(6, 14, 3),)
