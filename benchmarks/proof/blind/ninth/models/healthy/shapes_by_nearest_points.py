r"""Classifier of shapes by graphs of nearest points that are rebuilt in each layer.

Source: https://github.com/antao97/dgcnn.pytorch
Odd: A point is among its own neighbours, the graph is chosen by indices without a gradient, and
    two poolings are joined at the end.
"""

import torch
import torch.nn.functional as F
from torch import nn


def knn(x, k):
    inner = -2 * torch.matmul(x.transpose(2, 1), x)
    squared = torch.sum(x**2, dim=1, keepdim=True)
    distance = -squared - inner - squared.transpose(2, 1)
    return distance.topk(k=k, dim=-1)[1]


def graph_feature(x, k):
    batch, size, points = x.shape
    index = knn(x, k)
    base = torch.arange(batch, device=x.device).view(-1, 1, 1) * points
    index = (index + base).view(-1)
    x = x.transpose(2, 1).contiguous()
    feature = x.view(batch * points, -1)[index].view(batch, points, k, size)
    x = x.view(batch, points, 1, size).repeat(1, 1, k, 1)
    return torch.cat((feature - x, x), dim=3).permute(0, 3, 1, 2).contiguous()


def edge(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(2 * inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2)
    )


class Shapes(nn.Module):
    def __init__(self, k=8, size=64, classes=10):
        super().__init__()
        self.k = k
        self.edges = nn.ModuleList([edge(3, 16), edge(16, 16), edge(16, 32), edge(32, 32)])
        self.join = nn.Sequential(
            nn.Conv1d(96, size, 1, bias=False), nn.BatchNorm1d(size), nn.LeakyReLU(0.2)
        )
        self.linear1, self.bn1 = nn.Linear(2 * size, 64, bias=False), nn.BatchNorm1d(64)
        self.dropout, self.linear2 = nn.Dropout(0.5), nn.Linear(64, classes)

    def forward(self, x):
        levels = []
        for layer in self.edges:
            x = layer(graph_feature(x, self.k)).max(dim=-1)[0]
            levels.append(x)
        x = self.join(torch.cat(levels, 1))
        x = torch.cat([F.adaptive_max_pool1d(x, 1), F.adaptive_avg_pool1d(x, 1)], 1).flatten(1)
        x = self.dropout(F.leaky_relu(self.bn1(self.linear1(x)), 0.2))
        return self.linear2(x)


def build():
    return Shapes()


def example_inputs():
    return (torch.randn(4, 3, 48),)
