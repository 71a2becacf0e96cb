r"""The model `ClipEmbedder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool1d.html
Fault: AdaptiveAvgPool1d gets [B, T, C] and averages the features away instead of the time.
Cause: (pool|averag)\w*.*(feature|channel|wrong (axis|dim)|time|last (axis|dim)|layout|transpos|permut)
    |wrong (axis|dim)
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
        h = self.pool(h).squeeze(-1)
        return self.head(F.relu(h))


torch.manual_seed(0)
model = ClipEmbedder()
example_inputs = (torch.randn(8, 16, 12),)
