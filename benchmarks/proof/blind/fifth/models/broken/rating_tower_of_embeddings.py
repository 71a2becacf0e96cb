r"""Rating predictor with a tower of dense layers over user and item embeddings.

Source: https://github.com/dmlc/mxnet-notebooks/issues/5
Fault: The dense layers have no activation between them, so the tower is one linear map.
Cause: activation|non-?linear
    |(linear|dense|affine)\w* .*(in a row|follow|directly|collapse|consecutive|one (linear|map))
Place: \btower\.[12]\b
"""

import torch
from torch import nn


class RatingTower(nn.Module):
    def __init__(self, users=60, items=80, rank=16):
        super().__init__()
        self.user = nn.Embedding(users, rank)
        self.item = nn.Embedding(items, rank)
        self.user_bias = nn.Embedding(users, 1)
        self.tower = nn.Sequential(
            nn.Linear(2 * rank, 64),
            nn.Linear(64, 64),  # here
            nn.Linear(64, 1),  # here
        )

    def forward(self, user, item):
        x = torch.cat([self.user(user), self.item(item)], dim=1)
        return (self.tower(x) + self.user_bias(user)).squeeze(1)


def build():
    return RatingTower()


def example_inputs():
    return torch.randint(0, 60, (32,)), torch.randint(0, 80, (32,))
