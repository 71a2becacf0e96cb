r"""Kind of a dish from its cooking steps, padded to one length and mixed by self-attention.

Source: https://github.com/hyunwoongko/transformer/pull/40
Fault: the padding mask is put on the axis of the queries, not of the keys, so real steps still
    attend to padding and a prediction depends on how much padding the batch has.
Cause: (mask|padding|unsqueeze).{0,120}(quer|rows?\b|wrong (axis|dim)|keys?\b|last axis|axis)
    |(attend|attention|look).{0,80}(padding|padded|pad\b|empty)
    |(padding|padded).{0,80}(attended|not masked|still|influence|depends?|affect|leak|change)
Place: pad|mask|unsqueeze|masked_fill|scores
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, LENGTH, DISHES = 60, 14, 5


class StepAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, pad):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / math.sqrt(x.size(-1))
        scores = scores.masked_fill(pad.unsqueeze(2), -1e9)  # here
        return self.out(scores.softmax(dim=-1) @ self.value(x))


class DishReader(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(STEPS, dim)
        self.norm = nn.LayerNorm(dim)
        self.attention = StepAttention(dim)
        self.mlp = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim),
        )
        self.head = nn.Linear(dim, DISHES)

    def forward(self, steps, dish=None):
        pad = steps == 0
        h = self.embed(steps)
        h = h + self.attention(self.norm(h), pad)
        h = h + self.mlp(h)
        real = (~pad).unsqueeze(-1)
        scores = self.head((h * real).sum(1) / real.sum(1))
        if dish is None:
            return scores
        return F.cross_entropy(scores, dish)


def make_dishes(n, seed):
    g = torch.Generator().manual_seed(seed)
    dish = torch.randint(0, DISHES, (n,), generator=g)
    own = 1 + dish.view(-1, 1) * 8 + torch.randint(0, 8, (n, LENGTH), generator=g)
    other = torch.randint(41, STEPS, (n, LENGTH), generator=g)
    steps = torch.where(torch.rand(n, LENGTH, generator=g) < 0.4, own, other)
    length = torch.randint(4, LENGTH + 1, (n, 1), generator=g)
    return steps.masked_fill(torch.arange(LENGTH) >= length, 0), dish


def build():
    torch.manual_seed(0)
    return DishReader()


def example_inputs():
    return make_dishes(64, seed=50)
