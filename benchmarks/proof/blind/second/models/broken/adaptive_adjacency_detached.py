r"""A skeleton graph network with an adjacency that is computed from the features.

Source: https://github.com/queenie88/A-GCN/issues/4
Fault: the learnt adjacency is detached before it multiplies the features, so the two embeddings
    that make it never get a gradient.
Cause: detach|gradients?\b.*\b(cut|stops?|reach|blocked|none)|(no|without|never \w+ a) gradient
Place: \badj\b|theta|\bphi\b
"""

import torch
from torch import nn


class AdaptiveGraphConv(nn.Module):
    def __init__(self, in_channels, out_channels, inter=8):
        super().__init__()
        self.theta = nn.Conv2d(in_channels, inter, 1)
        self.phi = nn.Conv2d(in_channels, inter, 1)
        self.conv = nn.Conv2d(in_channels, out_channels, 1)
        self.bn = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        q = self.theta(x).mean(2)
        k = self.phi(x).mean(2)
        adj = torch.softmax(q.transpose(1, 2) @ k, -1)
        out = torch.einsum("nctv,nvw->nctw", x, adj.detach())  # here
        return torch.relu(self.bn(self.conv(out)))


class AGCN(nn.Module):
    def __init__(self, joints=15, classes=8):
        super().__init__()
        self.data_bn = nn.BatchNorm1d(3 * joints)
        self.l1 = AdaptiveGraphConv(3, 16)
        self.l2 = AdaptiveGraphConv(16, 32)
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        n, c, t, v = x.shape
        x = self.data_bn(x.permute(0, 3, 1, 2).reshape(n, v * c, t))
        x = x.view(n, v, c, t).permute(0, 2, 3, 1)
        return self.fc(self.l2(self.l1(x)).mean((2, 3)))


def build():
    return AGCN()


def example_inputs():
    return (torch.randn(4, 3, 20, 15),)
