r"""Embedding network that returns a circle loss over its batch.

Source: https://github.com/TinyZeaMays/CircleLoss/issues/28
Odd: The weights alpha are computed from detached similarities: they are factors of the gradient
    and must not be differentiated themselves.
"""

import torch
import torch.nn.functional as F
from torch import nn


class CircleEmbedder(nn.Module):
    def __init__(self, size=20, dim=8, m=0.25, gamma=8.0):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, dim))
        self.m, self.gamma = m, gamma

    def forward(self, x, label):
        z = F.normalize(self.body(x), dim=1)
        pairs = (z @ z.t()).triu(diagonal=1)
        upper = torch.ones_like(pairs, dtype=torch.bool).triu(diagonal=1)
        same = label[:, None] == label[None, :]
        sp, sn = pairs[same & upper], pairs[~same & upper]
        ap = torch.clamp_min(-sp.detach() + 1 + self.m, 0.0)
        an = torch.clamp_min(sn.detach() + self.m, 0.0)
        logit_p = -ap * (sp - 1 + self.m) * self.gamma
        logit_n = an * (sn - self.m) * self.gamma
        return F.softplus(torch.logsumexp(logit_n, 0) + torch.logsumexp(logit_p, 0))


def build():
    return CircleEmbedder()


def example_inputs():
    return torch.randn(12, 20), torch.arange(12) % 3
