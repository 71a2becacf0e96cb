r"""The model `NeighbourAttention`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class NeighbourAttention(nn.Module):
    def __init__(self, features=5, dim=32, heads=4, out=2):
        super().__init__()
        self.heads = heads
        self.inp = nn.Linear(features, dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.out = nn.Linear(dim, out)

    def forward(self, x, positions):
        blocked = torch.cdist(positions, positions) > 1.5
        blocked = blocked.repeat_interleave(self.heads, dim=0)
        h = self.inp(x)
        a, _ = self.attn(h, h, h, attn_mask=blocked, need_weights=False)
        return self.out(F.relu(h + a))


torch.manual_seed(0)
model = NeighbourAttention()
example_inputs = (torch.randn(6, 10, 5), torch.randn(6, 10, 2),)
