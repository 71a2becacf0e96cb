r"""Prediction of clicks from a history with an activation unit that adapts to the data.

Source: https://github.com/shenweichen/DeepCTR-Torch/issues/93
Fault: The slope alpha of the activation is a plain tensor of zeros and stays at zero for ever.
Cause: register\w*|nn\.?Parameter|plain (tensor|attribute)|not (a |an )?parameter
    |not (in|among|part of) .*(parameters|state_dict)|never (learn|train|updat)\w*
    |(not|never) (moved|saved)|buffer
Place: \balpha\b
"""

import torch
from torch import nn


class Dice(nn.Module):
    def __init__(self, emb_size, epsilon=1e-8):
        super().__init__()
        self.bn = nn.BatchNorm1d(emb_size, eps=epsilon)
        self.sigmoid = nn.Sigmoid()
        self.alpha = torch.zeros((emb_size,))  # here

    def forward(self, x):
        x_p = self.sigmoid(self.bn(x))
        return self.alpha * (1 - x_p) * x + x_p * x


class InterestNetwork(nn.Module):
    def __init__(self, items=100, dim=12):
        super().__init__()
        self.item = nn.Embedding(items, dim, padding_idx=0)
        self.score = nn.Sequential(nn.Linear(4 * dim, 16), nn.PReLU(), nn.Linear(16, 1))
        self.dnn = nn.Sequential(
            nn.Linear(2 * dim, 32), Dice(32), nn.Linear(32, 16), Dice(16), nn.Linear(16, 1)
        )

    def forward(self, candidate, history):
        q, keys = self.item(candidate), self.item(history)
        q_all = q.unsqueeze(1).expand_as(keys)
        scores = self.score(torch.cat([q_all, keys, q_all - keys, q_all * keys], dim=-1))
        scores = scores * (history != 0).unsqueeze(-1)
        interest = (scores * keys).sum(dim=1)
        return self.dnn(torch.cat([q, interest], dim=1)).squeeze(1)


def build():
    return InterestNetwork()


def example_inputs():
    history = torch.randint(1, 100, (16, 10))
    history[::3, 6:] = 0
    return torch.randint(1, 100, (16,)), history
