"""A supernet for architecture search that runs one candidate at each position.

Source: https://github.com/facebookresearch/ClassyVision/pull/415
Odd: on each step most candidates get no gradient.
"""

import torch
from torch import nn


class SuperNet(nn.Module):
    def __init__(self, c=8, positions=2):
        super().__init__()
        self.choices = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(c, c, k, padding=k // 2) for k in (1, 3, 5))
            for _ in range(positions)
        )
        self.head = nn.Conv2d(c, 2, 1)

    def forward(self, x):
        for candidates in self.choices:
            pick = int(torch.randint(len(candidates), (1,)))
            x = x + torch.relu(candidates[pick](x))
        return self.head(x)


def example_inputs():
    return (torch.randn(4, 8, 6, 6),)
