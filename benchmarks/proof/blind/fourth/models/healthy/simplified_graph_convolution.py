r"""Graph convolution of several steps without anything between them.

Source: https://github.com/Tiiiger/SGC/blob/master/models.py
Odd: The model is linear: features are averaged over neighbours twice, then classified. The
    adjacency is a buffer.
"""

import torch
from torch import nn


class SGC(nn.Module):
    def __init__(self, adjacency, features=12, classes=4, degree=2):
        super().__init__()
        looped = adjacency + torch.eye(len(adjacency))
        rate = looped.sum(1).rsqrt()
        self.register_buffer("adjacency", rate[:, None] * looped * rate)
        self.degree = degree
        self.W = nn.Linear(features, classes)

    def forward(self, x):
        for _ in range(self.degree):
            x = self.adjacency @ x
        return self.W(x)


def build():
    edges = (torch.rand(30, 30) < 0.1).float().triu(1)
    return SGC(edges + edges.t())


def example_inputs():
    return torch.randn(30, 12)
