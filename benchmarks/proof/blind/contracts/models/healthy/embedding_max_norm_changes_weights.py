r"""The model `MetricEmbedding`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class MetricEmbedding(nn.Module):
    def __init__(self, items=60, dim=16, out=4):
        super().__init__()
        self.items = nn.Embedding(items, dim)
        self.proj = nn.Linear(dim, dim)
        self.out = nn.Linear(2 * dim, out)

    def encode(self, ids):
        e = self.items(ids)
        e = e / e.norm(dim=-1, keepdim=True).clamp(min=1.0)
        return torch.tanh(self.proj(e))

    def forward(self, left, right):
        a = self.encode(left)
        b = self.encode(right)
        return self.out(torch.cat([a * b, (a - b).abs()], dim=-1))


torch.manual_seed(0)
model = MetricEmbedding()
example_inputs = (torch.randint(0, 60, (8,)), torch.randint(0, 60, (8,)),)
