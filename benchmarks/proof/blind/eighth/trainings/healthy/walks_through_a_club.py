"""Vectors of the members of a club from random walks, with drawn members as contrast.

Source: https://github.com/aditya-grover/node2vec
Odd: There are two tables of vectors and only one is used afterwards; most rows get no gradient in a
    step (sparse gradients), and the loss stays well above zero because some pairs are random.
"""

import random

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(239)
random.seed(239)
GROUPS, MEMBERS = 4, 20
NODES = GROUPS * MEMBERS
group_of = torch.arange(NODES) // MEMBERS
chance = torch.where(group_of[:, None] == group_of[None], 0.35, 0.015)
edges = torch.triu(torch.rand(NODES, NODES) < chance, 1)
edges = edges | edges.T
neighbours = [row.nonzero().flatten().tolist() or [i] for i, row in enumerate(edges)]


def walk(start, length=12, p=1.0, q=0.5):
    path = [start, random.choice(neighbours[start])]
    while len(path) < length:
        now, before = path[-1], path[-2]
        weights = [
            1 / p if n == before else (1.0 if edges[n, before] else 1 / q) for n in neighbours[now]
        ]
        path.append(random.choices(neighbours[now], weights)[0])
    return path


def skip_gram_pairs(walks, window=3):
    return [
        (path[i], path[j])
        for path in walks
        for i in range(len(path))
        for j in range(max(0, i - window), min(len(path), i + window + 1))
        if i != j
    ]


class SkipGram(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.centre = nn.Embedding(NODES, dim, sparse=True)
        self.context = nn.Embedding(NODES, dim, sparse=True)
        nn.init.uniform_(self.centre.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.context.weight)

    def forward(self, centre, context, negatives):
        v = self.centre(centre)
        positive = F.logsigmoid((v * self.context(context)).sum(1))
        negative = F.logsigmoid(-(self.context(negatives) @ v[:, :, None])).sum((1, 2))
        return -(positive + negative).mean()


@torch.no_grad()
def neighbours_in_group(model):
    v = F.normalize(model.centre.weight, dim=1)
    best = (v @ v.T).fill_diagonal_(-2).topk(5, dim=1).indices
    return (group_of[best] == group_of[:, None]).float().mean().item()


pairs = torch.tensor(skip_gram_pairs([walk(n) for n in range(NODES) for _ in range(4)]))
model = SkipGram()
optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.02)
print(f"nearest members of the same group {neighbours_in_group(model):.3f}")
for step in range(250):
    batch = pairs[torch.randint(0, len(pairs), (128,))]
    loss = model(batch[:, 0], batch[:, 1], torch.randint(0, NODES, (128, 4)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f}")
print(f"nearest members of the same group {neighbours_in_group(model):.3f}")
