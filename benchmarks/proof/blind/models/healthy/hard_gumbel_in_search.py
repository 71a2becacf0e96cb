"""A search cell that picks one operation by hard Gumbel-softmax.

Source: https://github.com/D-X-Y/AutoDL-Projects/issues/14
Odd: the forward value is one-hot, the gradient is that of the soft sample.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SearchCell(nn.Module):
    def __init__(self, c=8, tau=2.0):
        super().__init__()
        self.ops = nn.ModuleList(
            [nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 3, padding=1), nn.AvgPool2d(3, 1, 1)]
        )
        self.arch_parameters = nn.Parameter(1e-3 * torch.randn(1, 3))
        self.out = nn.Conv2d(c, 2, 1)
        self.tau = tau

    def forward(self, x):
        hard = F.gumbel_softmax(self.arch_parameters, tau=self.tau, hard=True)[0]
        return self.out(sum(w * op(x) for w, op in zip(hard, self.ops, strict=True)))


def example_inputs():
    return (torch.randn(4, 8, 6, 6),)
