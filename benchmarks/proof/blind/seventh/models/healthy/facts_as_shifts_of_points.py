r"""Plausibility of facts: the relation shifts the point of the head to the point of the tail.

Source: https://github.com/thunlp/OpenKE/blob/OpenKE-PyTorch/openke/module/model/TransE.py
Odd: The points are set to length one in forward and no layer follows; the score is a distance, so
    lower is better, and a fixed margin is kept in a parameter without gradient.
"""

import torch
import torch.nn.functional as F
from torch import nn


class ShiftedPoints(nn.Module):
    def __init__(self, entities=50, relations=8, dim=24, p_norm=1, margin=6.0):
        super().__init__()
        self.p_norm = p_norm
        self.ent_embeddings = nn.Embedding(entities, dim)
        self.rel_embeddings = nn.Embedding(relations, dim)
        nn.init.xavier_uniform_(self.ent_embeddings.weight)
        nn.init.xavier_uniform_(self.rel_embeddings.weight)
        self.margin = nn.Parameter(torch.tensor([margin]), requires_grad=False)

    def distance(self, h, t, r):
        h, r, t = F.normalize(h, dim=-1), F.normalize(r, dim=-1), F.normalize(t, dim=-1)
        return (h + r - t).norm(self.p_norm, dim=-1)

    def forward(self, head, tail, relation, wrong_tail):
        h, r = self.ent_embeddings(head), self.rel_embeddings(relation)
        good = self.distance(h, self.ent_embeddings(tail), r)
        bad = self.distance(h[:, None], self.ent_embeddings(wrong_tail), r[:, None])
        return self.margin - good, self.margin - bad

    def rank(self, head, relation):
        h, r = self.ent_embeddings(head), self.rel_embeddings(relation)
        every = self.ent_embeddings.weight[None]
        return self.distance(h[:, None], every, r[:, None]).argsort(1)


def build():
    return ShiftedPoints()


def example_inputs():
    return (
        torch.randint(0, 50, (8,)),
        torch.randint(0, 50, (8,)),
        torch.randint(0, 8, (8,)),
        torch.randint(0, 50, (8, 4)),
    )
