r"""Chance that a viewer watches a film, from one vector for each viewer and each film.

Source: https://github.com/pytorch/pytorch/issues/3121
Fault: The embeddings keep the default start values, normal with a deviation of one, so the
    products of long vectors are large and the sigmoid is saturated.
Cause: (embed\w*|init\w*|N\(0, ?1\)|std|deviation).{0,140}(large|high|big|saturat|scale|small
    |unit|N\(0|one|\b1\b|default)
    |saturat\w*
    |(logit|dot|product|score)\w*.{0,60}(large|high|big|huge|too)
Place: embed\w*|\bviewer\w*|\bfilm\w*|weight|init\w*
"""

import torch
from torch import nn


class FilmChance(nn.Module):
    def __init__(self, viewers=60, films=90, kinds=8, dim=96):
        super().__init__()
        self.viewer = nn.Embedding(viewers, dim)  # here
        self.film = nn.Embedding(films, dim)  # here
        self.kind = nn.EmbeddingBag(kinds, dim, mode="sum")  # here
        self.viewer_bias = nn.Embedding(viewers, 1)
        self.film_bias = nn.Embedding(films, 1)
        nn.init.zeros_(self.viewer_bias.weight)
        nn.init.zeros_(self.film_bias.weight)

    def forward(self, viewer, film, kinds):
        u = self.viewer(viewer)
        v = self.film(film) + self.kind(kinds)
        score = (u * v).sum(1)
        score = score + self.viewer_bias(viewer).squeeze(1) + self.film_bias(film).squeeze(1)
        return torch.sigmoid(score)

    def similar(self, film, count=5):
        table = nn.functional.normalize(self.film.weight, dim=1)
        near = (table[film] @ table.T).topk(count + 1, dim=1)
        return near.indices[:, 1:]


def build():
    return FilmChance()


def example_inputs():
    return (
        torch.randint(0, 60, (8,)),
        torch.randint(0, 90, (8,)),
        torch.randint(0, 8, (8, 3)),
    )
