r"""A recommender with embeddings made by a function of a translation library.

Source: https://github.com/facebookresearch/fairseq/issues/4076
Fault: padding_idx is None and weight[None] selects everything, so both tables are zero: no
    gradient.
Cause: padding_idx|None|(init\w*|start\w*|weights?|tables?|values?).*(zero|\b0\b)|all.?zero
Place: emb|Embedding
"""

import torch
from torch import nn


def make_embedding(num_embeddings, embedding_dim, padding_idx=None):
    m = nn.Embedding(num_embeddings, embedding_dim, padding_idx=padding_idx)
    nn.init.normal_(m.weight, mean=0, std=embedding_dim**-0.5)
    nn.init.constant_(m.weight[padding_idx], 0)  # here
    return m


class DotRecommender(nn.Module):
    def __init__(self, n_users=20, n_items=30, dim=8):
        super().__init__()
        self.user_emb = make_embedding(n_users, dim)
        self.item_emb = make_embedding(n_items, dim)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, user, item):
        return (self.user_emb(user) * self.item_emb(item)).sum(1) + self.bias


def build():
    return DotRecommender()


def example_inputs():
    return (
        torch.randint(0, 20, (16,)),
        torch.randint(0, 30, (16,)),
    )
