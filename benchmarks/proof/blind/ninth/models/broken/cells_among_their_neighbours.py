r"""Types of the cells of a slide from their own look and that of the cells around them.

Source: https://github.com/recolyce/HistoCell/issues/3
Fault: A layer that does not concatenate returns the projected input and not what the attention
    gathered from the neighbours.
Cause: (return\w*|give\w*|output\w*).{0,120}(\bh\b|input|projected|projection|instead
    |unattended|not.{0,20}h_prime|wrong)|h_prime.{0,100}(un-?used|never|not|discard\w*
    |ignor\w*|thrown|instead|lost|dropp\w*)|(attention|neighbou?r\w*|aggregat\w*
    |adjacency).{0,120}(un-?used|never|not used|discard\w*|ignor\w*|no (effect|gradient
    |influence)|lost|thrown|bypass\w*|dropp\w*)
Place: \bh\b|h_prime|return|forward|concat|GraphAttention\w*
"""

import torch
import torch.nn.functional as F
from torch import nn


class GraphAttentionLayer(nn.Module):
    def __init__(self, inputs, outputs, dropout=0.2, alpha=0.2, concat=True):
        super().__init__()
        self.outputs, self.dropout, self.concat = outputs, dropout, concat
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.a = nn.Parameter(torch.empty(2 * outputs, 1))
        nn.init.xavier_uniform_(self.weight, gain=1.414)
        nn.init.xavier_uniform_(self.a, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, x, adj):
        h = x @ self.weight
        left, right = h @ self.a[: self.outputs], h @ self.a[self.outputs :]
        e = self.leakyrelu(left + right.transpose(-1, -2))
        attention = e.masked_fill(adj <= 0, -9e15).softmax(-1)
        attention = F.dropout(attention, self.dropout, training=self.training)
        h_prime = attention @ h
        if self.concat:
            return F.elu(h_prime)
        return h  # here


class CellTypes(nn.Module):
    def __init__(self, look=64, hidden=16, heads=3, types=8):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(look, 48), nn.ReLU())
        self.attentions = nn.ModuleList(GraphAttentionLayer(48, hidden) for _ in range(heads))
        self.out_att = GraphAttentionLayer(hidden * heads, 32, concat=False)
        self.types = nn.Linear(32, types)
        self.states = nn.Linear(32, 4)

    def forward(self, x, adj):
        x = self.encode(x)
        x = torch.cat([att(x, adj) for att in self.attentions], -1)
        x = F.elu(self.out_att(x, adj))
        proportion = self.types(x).softmax(-1).mean(1)
        return proportion, self.states(x)


def build():
    return CellTypes()


def example_inputs():
    near = (torch.rand(2, 20, 20) > 0.7).float()
    return torch.randn(2, 20, 64), ((near + near.transpose(1, 2) + torch.eye(20)) > 0).float()
