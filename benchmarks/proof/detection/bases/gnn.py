"""Classifies graphs, given the features of their nodes and their adjacency matrices."""

import torch
from torch import nn


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, adjacency):
        adjacency = adjacency + torch.eye(adjacency.shape[-1]).to(x)
        degree = adjacency.sum(dim=-1, keepdim=True)
        return self.linear(adjacency @ x / degree)


class GraphNet(nn.Module):
    def __init__(self, features=16, width=48, classes=3):
        super().__init__()
        self.conv1 = GraphConv(features, width)
        self.conv2 = GraphConv(width, width)
        self.conv3 = GraphConv(width, width)
        self.readout = nn.Linear(width, classes)

    def forward(self, nodes, adjacency):
        x = torch.relu(self.conv1(nodes, adjacency))
        x = torch.relu(self.conv2(x, adjacency))
        x = torch.relu(self.conv3(x, adjacency))
        pooled = x.mean(dim=1)
        return self.readout(pooled)


def example_inputs():
    edges = (torch.rand(8, 10, 10) < 0.3).float()
    edges = torch.triu(edges, diagonal=1)
    return torch.randn(8, 10, 16), edges + edges.transpose(1, 2)
