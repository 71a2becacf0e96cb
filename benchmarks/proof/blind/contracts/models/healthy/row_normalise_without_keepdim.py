r"""Averages over the papers that a paper cites.

Source: https://docs.pytorch.org/docs/stable/generated/torch.sum.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.lin = nn.Linear(cin, cout)

    def forward(self, x, adj):
        adj = adj + torch.eye(adj.size(0), device=adj.device)
        adj = adj / adj.sum(dim=1, keepdim=True)
        return adj @ self.lin(x)


class CitationNet(nn.Module):
    """Averages over the papers that a paper cites."""

    def __init__(self, words=20, hidden=16, classes=4):
        super().__init__()
        self.conv1 = GraphConv(words, hidden)
        self.conv2 = GraphConv(hidden, classes)
        self.drop = nn.Dropout(0.2)

    def forward(self, x, adj):
        h = F.relu(self.conv1(x, adj))
        return self.conv2(self.drop(h), adj)


torch.manual_seed(0)
model = CitationNet()
example_inputs = (torch.randn(12, 20), (torch.rand(12, 12) > 0.7).float(),)
