r"""Prediction of clicks from categorical fields with a factorisation machine and a deep part.

Source: https://github.com/shenweichen/DeepCTR-Torch/blob/master/deepctr_torch/layers/interaction.py
Odd: Products of all pairs are never formed; half of a difference of two sums gives the same.
"""

import torch
from torch import nn


class FM(nn.Module):
    def forward(self, inputs):
        square_of_sum = inputs.sum(dim=1).square()
        sum_of_square = inputs.square().sum(dim=1)
        return 0.5 * (square_of_sum - sum_of_square).sum(dim=1, keepdim=True)


class DeepFM(nn.Module):
    def __init__(self, fields=(30, 12, 50, 7), dim=8, std=1e-4):
        super().__init__()
        offsets = torch.tensor([0, *fields[:-1]]).cumsum(0)
        self.register_buffer("offsets", offsets)
        self.linear = nn.Embedding(sum(fields), 1)
        self.embedding = nn.Embedding(sum(fields), dim)
        nn.init.normal_(self.linear.weight, std=std)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.fm = FM()
        self.dnn = nn.Sequential(
            nn.Linear(len(fields) * dim, 32), nn.ReLU(), nn.Linear(32, 1, bias=False)
        )
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        x = x + self.offsets
        e = self.embedding(x)
        logit = self.linear(x).sum(dim=1) + self.fm(e) + self.dnn(e.flatten(1))
        return torch.sigmoid(logit + self.bias).squeeze(1)


def build():
    return DeepFM()


def example_inputs():
    return torch.stack([torch.randint(0, n, (24,)) for n in (30, 12, 50, 7)], dim=1)
