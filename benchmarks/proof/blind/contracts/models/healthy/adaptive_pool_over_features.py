r"""The model `ClipEmbedder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool1d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ClipEmbedder(nn.Module):
    def __init__(self, features=12, dim=16, frames=16, out=6):
        super().__init__()
        self.frame = nn.Sequential(nn.Linear(features, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(dim, out)

    def forward(self, x):
        # x: [batch, frames, features]
        h = self.frame(x)
        h = self.pool(h.transpose(1, 2)).squeeze(-1)
        return self.head(F.relu(h))


torch.manual_seed(0)
model = ClipEmbedder()
example_inputs = (torch.randn(8, 16, 12),)
