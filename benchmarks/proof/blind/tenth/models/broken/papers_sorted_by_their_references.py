r"""Field of research of papers in a network of references.

Source: https://github.com/FluxML/GeometricFlux.jl/issues/249
Fault: The graph convolution multiplies by the normalised Laplacian, identity minus adjacency,
    where the normalised adjacency with self-loops belongs.
Cause: laplacian|identity minus|(1|I|eye|identity)\s?(-|minus)|(subtract\w*|minus|negativ\w*|sign|differenc\w*).{0,100}(neighbou?r|adjacen|identity|eye)
    |(neighbou?rs?|adjacen\w*).{0,80}(subtract|negative|minus|sign|wrong)|high.?pass|sharpen
Place: laplacian|normalized_laplacian|\bprop\b|\beye\b|adj|\blap\b|GraphConv|norm
"""

import torch
from torch import nn
from torch.nn import functional as F


def normalized_propagation(adj):
    adj = adj + torch.eye(adj.shape[0], device=adj.device)
    scale = adj.sum(1).rsqrt()
    adj = scale[:, None] * adj * scale[None, :]
    return torch.eye(adj.shape[0], device=adj.device) - adj  # here


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, prop):
        return prop @ (x @ self.weight) + self.bias


class PaperNet(nn.Module):
    def __init__(self, words=50, hidden=16, fields=5):
        super().__init__()
        self.conv1 = GraphConv(words, hidden)
        self.conv2 = GraphConv(hidden, fields)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x, adj):
        prop = normalized_propagation(adj)
        h = F.relu(self.conv1(self.dropout(x), prop))
        return self.conv2(self.dropout(h), prop)


def build():
    return PaperNet()


def example_inputs():
    links = (torch.rand(30, 30) < 0.1).float().triu(1)
    return (torch.rand(30, 50) < 0.15).float(), links + links.t()
