"""A DETR style head: queries first, then masks for each image.

Source: https://github.com/Jingkang50/OpenPSG/issues/56
Fault: view turns (queries, batch) into (batch, queries) without a transpose: images get mixed.
Cause: view|reshape|transpose|permute|mix
Place: hs|view
"""

import torch
from torch import nn


class QueryHead(nn.Module):
    def __init__(self, dim=16, num_queries=5, num_classes=4):
        super().__init__()
        self.query_embed = nn.Embedding(num_queries, dim)
        self.attn = nn.MultiheadAttention(dim, 2)
        self.class_embed = nn.Linear(dim, num_classes)

    def forward(self, features):
        bs, _, dim = features.shape
        memory = features.transpose(0, 1)
        query = self.query_embed.weight.unsqueeze(1).repeat(1, bs, 1)
        hs, _ = self.attn(query, memory, memory)
        hs = hs.contiguous().view(bs, -1, dim)  # here
        return self.class_embed(hs)


def example_inputs():
    return (torch.randn(3, 10, 16),)
