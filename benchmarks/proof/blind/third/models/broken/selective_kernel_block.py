r"""Selective kernel convolution with branch attention, after SKNet.

Source: https://github.com/xmu-xiaoma666/External-Attention-pytorch/issues/18
Fault: The branch weights are normalised over the batch axis (dim 1 of k, b, c, 1, 1), not branches.
Cause: softmax.*(batch|wrong (dim|axis)|dim(ension)?[ =]*1)|(mix|depend|leak)\w* .*(samples|batch)
Place: softmax|SKAttention|forward|fcs
"""

import torch
from torch import nn


class SKAttention(nn.Module):
    def __init__(self, channel=16, kernels=(1, 3, 5), reduction=4):
        super().__init__()
        self.convs = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(channel, channel, k, padding=k // 2), nn.BatchNorm2d(channel), nn.ReLU()
            )
            for k in kernels
        )
        self.fc = nn.Linear(channel, channel // reduction)
        self.fcs = nn.ModuleList(nn.Linear(channel // reduction, channel) for _ in kernels)
        self.softmax = nn.Softmax(dim=1)  # here

    def forward(self, x):
        feats = torch.stack([conv(x) for conv in self.convs], 0)
        z = self.fc(feats.sum(0).mean(dim=(2, 3)))
        weights = torch.stack([fc(z)[:, :, None, None] for fc in self.fcs], 0)
        return (self.softmax(weights) * feats).sum(0)


def build():
    return SKAttention()


def example_inputs():
    return torch.randn(4, 16, 10, 10)
