r"""The model `TrajectoryEncoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.gather.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class TrajectoryEncoder(nn.Module):
    def __init__(self, features=4, hidden=24, out=3):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, out))

    def last_state(self, h, lengths):
        index = lengths - 1
        index = index.view(-1, 1, 1).expand(-1, 1, h.size(2))
        return h.gather(1, index).squeeze(1)

    def forward(self, x, lengths):
        h, _ = self.rnn(x)
        return self.head(self.last_state(h, lengths))


def make_batch():
    lengths = torch.tensor([3, 12, 6, 9, 4, 7])
    x = torch.randn(6, 12, 4)
    x[torch.arange(12)[None] >= lengths[:, None]] = 0
    return x, lengths


torch.manual_seed(0)
model = TrajectoryEncoder()
example_inputs = (*make_batch(),)
