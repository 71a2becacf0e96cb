"""A decoder with a loss after each layer and one head for boxes.

Source: https://github.com/IDEA-Research/DAB-DETR/pull/17
Odd: the list of heads holds the same module for all layers, which is the design of DETR.
"""

import torch
from torch import nn


class SharedHeadDecoder(nn.Module):
    def __init__(self, dim=16, queries=4, layers=3):
        super().__init__()
        self.query_embed = nn.Embedding(queries, dim)
        self.layers = nn.ModuleList(
            nn.MultiheadAttention(dim, 2, batch_first=True) for _ in range(layers)
        )
        bbox_embed = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 4))
        self.bbox_embed = nn.ModuleList([bbox_embed for _ in range(layers)])

    def forward(self, memory):
        tgt = self.query_embed.weight.unsqueeze(0).expand(len(memory), -1, -1)
        outputs = []
        for layer, head in zip(self.layers, self.bbox_embed, strict=True):
            tgt = tgt + layer(tgt, memory, memory, need_weights=False)[0]
            outputs.append(head(tgt))
        return torch.stack(outputs)


def example_inputs():
    return (torch.randn(4, 9, 16),)
