"""Sampling points of deformable attention in one dimension.

Source: https://github.com/fundamentalvision/Deformable-DETR/issues/41
Odd: the layer of the attention weights is all zero; after softmax that is a uniform average.
"""

import torch
import torch.nn.functional as F
from torch import nn


class DeformAttn1d(nn.Module):
    def __init__(self, dim=16, points=4):
        super().__init__()
        self.sampling_offsets = nn.Linear(dim, points)
        self.attention_weights = nn.Linear(dim, points)
        self.value_proj, self.output_proj = nn.Linear(dim, dim), nn.Linear(dim, dim)
        nn.init.zeros_(self.sampling_offsets.weight)
        self.sampling_offsets.bias.data = torch.linspace(-0.4, 0.4, points)
        nn.init.zeros_(self.attention_weights.weight)
        nn.init.zeros_(self.attention_weights.bias)

    def forward(self, query):
        n = query.size(1)
        value = self.value_proj(query).transpose(1, 2).unsqueeze(2)
        ref = torch.linspace(-0.9, 0.9, n).view(1, n, 1)
        x = ref + 0.5 * torch.tanh(self.sampling_offsets(query))
        grid = torch.stack([x, torch.zeros_like(x)], dim=-1)
        sampled = F.grid_sample(value, grid, align_corners=False)
        weights = self.attention_weights(query).softmax(-1).unsqueeze(1)
        return query + self.output_proj((sampled * weights).sum(-1).transpose(1, 2))


def example_inputs():
    return (torch.randn(3, 8, 16),)
