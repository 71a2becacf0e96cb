r"""Topic of each paper in a citation network: guess first, then spread the guesses.

Source: https://github.com/gasteigerjo/ppnp
Odd: The network never sees the links; only its output is spread, many times and without weights,
    and each step mixes in the first guess again.
"""

import torch
import torch.nn.functional as F
from torch import nn


class PersonalWalks(nn.Module):
    def __init__(self, features=40, hidden=24, topics=5, alpha=0.1, steps=10):
        super().__init__()
        self.alpha, self.steps = alpha, steps
        self.first = nn.Linear(features, hidden, bias=False)
        self.second = nn.Linear(hidden, topics, bias=False)
        self.dropout = 0.5

    def edge_drop(self, adjacency):
        return F.dropout(adjacency, self.dropout, self.training)

    def forward(self, words, adjacency):
        a = adjacency + torch.eye(adjacency.shape[-1])
        d = a.sum(-1).rsqrt()
        a = d[..., :, None] * a * d[..., None, :]
        x = F.dropout(words, self.dropout, self.training)
        local = self.second(F.dropout(F.relu(self.first(x)), self.dropout, self.training))
        z = local
        for _ in range(self.steps):
            z = (1 - self.alpha) * self.edge_drop(a) @ z + self.alpha * local
        return z.log_softmax(-1)


def build():
    return PersonalWalks()


def example_inputs():
    words = (torch.rand(4, 16, 40) < 0.15).float()
    links = (torch.rand(4, 16, 16) < 0.2).float().triu(1)
    return words / words.sum(-1, keepdim=True).clamp(min=1), links + links.transpose(1, 2)
