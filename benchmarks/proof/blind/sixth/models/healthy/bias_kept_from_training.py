r"""Encoder and predictor of a siamese network which learns from two views.

Source: https://github.com/facebookresearch/simsiam/blob/main/simsiam/builder.py
Odd: The bias of one linear layer takes no gradient, since a norm without weights follows it; the
    targets are detached; the last layer of the predictor has a bias.
"""

import torch
from torch import nn


class SimSiam(nn.Module):
    def __init__(self, inputs=20, dim=48, pred_dim=12):
        super().__init__()
        backbone = nn.Sequential(nn.Linear(inputs, 64), nn.BatchNorm1d(64), nn.ReLU(inplace=True))
        fc = nn.Linear(64, dim)
        fc.bias.requires_grad = False
        self.encoder = nn.Sequential(
            backbone,
            nn.Linear(64, 64, bias=False),
            nn.BatchNorm1d(64),
            nn.ReLU(inplace=True),
            fc,
            nn.BatchNorm1d(dim, affine=False),
        )
        self.predictor = nn.Sequential(
            nn.Linear(dim, pred_dim, bias=False),
            nn.BatchNorm1d(pred_dim),
            nn.ReLU(inplace=True),
            nn.Linear(pred_dim, dim),
        )

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1.detach(), z2.detach()


def build():
    return SimSiam()


def example_inputs():
    x = torch.randn(32, 20)
    return x + 0.1 * torch.randn(32, 20), x + 0.1 * torch.randn(32, 20)
