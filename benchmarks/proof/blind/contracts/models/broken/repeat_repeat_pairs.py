r"""Scores all ordered pairs of objects of a scene.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.repeat.html
Fault: Both sides of the pair grid are expanded with repeat, so element i always meets element i
    and the pairs i, j never occur; one side needs repeat_interleave.
Cause: repeat_interleave|pairs?\b|(both|two|same).*repeat|repeat.*(both|two|same|twice|align)
    |cartesian|cross product|with itself
    |(identical|duplicate|equal) (half|halves|operand|input|copies)
"""

import torch
import torch.nn as nn


class RelationNet(nn.Module):
    """Scores all ordered pairs of objects of a scene."""

    def __init__(self, features=6, hidden=32, out=3):
        super().__init__()
        self.g = nn.Sequential(
            nn.Linear(2 * features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.f = nn.Linear(hidden, out)

    def forward(self, objects):
        b, n, c = objects.shape
        left = objects.repeat(1, n, 1)
        right = objects.repeat(1, n, 1)
        pairs = torch.cat([left, right], dim=-1)
        return self.f(self.g(pairs).sum(dim=1) / n)


torch.manual_seed(0)
model = RelationNet()
example_inputs = (torch.randn(5, 6, 6),)
