r"""Orders the points of a cloud along their first coordinate.

Source: https://docs.pytorch.org/docs/stable/generated/torch.sort.html
Fault: x.sort(dim=1) sorts every feature column by itself, so the features of one point no longer
    belong together.
Cause: sort.*(each|every|column|feature|independ|separately|row|pair|point|togeth)
    |(row|point|feature|pair|column)s?.*(independ|torn|separat|scrambl|togeth|shuffl|mixed|broken)
    |argsort
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
        ordered, _ = points.sort(dim=1)
        _, h = self.rnn(ordered)
        return self.head(self.norm(h[-1]))


torch.manual_seed(0)
model = SweepEncoder()
example_inputs = (torch.randn(6, 16, 4),)
