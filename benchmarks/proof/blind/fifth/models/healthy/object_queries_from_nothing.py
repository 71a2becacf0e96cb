r"""Detector that decodes a fixed set of objects from a feature map.

Source: https://github.com/facebookresearch/detr/blob/main/models/transformer.py
Odd: The decoder starts from zeros; only the learned queries, added in each layer, tell them apart.
"""

import torch
from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, d_model, heads=4):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, heads, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(d_model, heads, batch_first=True)
        self.ffn = nn.Sequential(
            nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, d_model)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, tgt, memory, pos, query_pos):
        q = tgt + query_pos
        tgt = self.norms[0](tgt + self.self_attn(q, q, tgt, need_weights=False)[0])
        q, k = tgt + query_pos, memory + pos
        tgt = self.norms[1](tgt + self.cross_attn(q, k, memory, need_weights=False)[0])
        return self.norms[2](tgt + self.ffn(tgt))


class Detector(nn.Module):
    def __init__(self, classes=6, queries=10, d_model=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, d_model, 3, 2, 1), nn.ReLU()
        )
        self.pos = nn.Parameter(torch.randn(1, 64, d_model))
        self.query_embed = nn.Embedding(queries, d_model)
        self.layers = nn.ModuleList(DecoderLayer(d_model) for _ in range(2))
        self.class_embed = nn.Linear(d_model, classes + 1)
        self.bbox_embed = nn.Linear(d_model, 4)

    def forward(self, images):
        memory = self.backbone(images).flatten(2).transpose(1, 2)
        query_pos = self.query_embed.weight.unsqueeze(0).expand(images.size(0), -1, -1)
        tgt = torch.zeros_like(query_pos)
        for layer in self.layers:
            tgt = layer(tgt, memory, self.pos, query_pos)
        return self.class_embed(tgt), self.bbox_embed(tgt).sigmoid()


def build():
    return Detector()


def example_inputs():
    return torch.randn(4, 3, 32, 32)
