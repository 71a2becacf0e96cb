r"""Orders the points of a cloud along their first coordinate.

Source: https://docs.pytorch.org/docs/stable/generated/torch.sort.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class SweepEncoder(nn.Module):
    """Orders the points of a cloud along their first coordinate."""

    def __init__(self, features=4, hidden=24, classes=5):
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.rnn = nn.GRU(features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, points):
        order = points[..., 0].argsort(dim=1)
        ordered = points.gather(1, order.unsqueeze(-1).expand_as(points))
        _, h = self.rnn(ordered)
        return self.head(self.norm(h[-1]))


torch.manual_seed(0)
model = SweepEncoder()
example_inputs = (torch.randn(6, 16, 4),)
