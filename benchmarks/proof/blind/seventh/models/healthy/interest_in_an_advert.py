r"""Chance of a click on an advert: the past clicks are weighed by the advert at hand.

Source: https://github.com/shenweichen/DeepCTR-Torch/blob/master/deepctr_torch/models/din.py
Odd: The weights of the past clicks are not put through a softmax, so that their sum measures the
    strength of the interest; padding is set to zero afterwards; the activation is learnt.
"""

import torch
from torch import nn


class Dice(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bn = nn.BatchNorm1d(features, affine=False)
        self.alpha = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        shape = x.shape
        flat = x.reshape(-1, shape[-1])
        gate = torch.sigmoid(self.bn(flat)).view(shape)
        return gate * x + (1 - gate) * self.alpha * x


class LocalActivation(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(4 * dim, 36), Dice(36), nn.Linear(36, 16), Dice(16), nn.Linear(16, 1)
        )

    def forward(self, query, history, mask):
        q = query[:, None].expand_as(history)
        pair = torch.cat([q, history, q - history, q * history], dim=-1)
        weight = self.net(pair).squeeze(-1) * mask
        return (weight[..., None] * history).sum(1)


class AdvertInterest(nn.Module):
    def __init__(self, goods=80, shops=15, users=40, dim=12):
        super().__init__()
        self.good, self.shop = nn.Embedding(goods, dim), nn.Embedding(shops, dim)
        self.user = nn.Embedding(users, dim)
        for table in (self.good, self.shop, self.user):
            nn.init.normal_(table.weight, std=0.1)
        self.attention = LocalActivation(2 * dim)
        self.net = nn.Sequential(
            nn.Linear(5 * dim, 48), Dice(48), nn.Linear(48, 24), Dice(24), nn.Linear(24, 1)
        )

    def item(self, good):
        return torch.cat([self.good(good), self.shop(good % 15)], dim=-1)

    def forward(self, user, advert, history, length):
        mask = torch.arange(history.shape[1]) < length[:, None]
        query, past = self.item(advert), self.item(history)
        interest = self.attention(query, past, mask.float())
        return self.net(torch.cat([self.user(user), query, interest], dim=1)).squeeze(1)


def build():
    return AdvertInterest()


def example_inputs():
    return (
        torch.randint(0, 40, (8,)),
        torch.randint(0, 80, (8,)),
        torch.randint(0, 80, (8, 10)),
        torch.randint(2, 11, (8,)),
    )
