r"""The model `NeighbourAttention`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html
Fault: A per-sample mask for nn.MultiheadAttention is expanded with repeat(heads, 1, 1), but the
    batch-major order needs repeat_interleave, so samples get each other's masks.
Cause: repeat_interleave|repeat.*(order|head|batch|interleav|mask)
    |(wrong|other|another|different|mix)\w* (sample|batch|item|mask)
    |mask.*(order|sample|belong|interleav|mismatch)
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
        blocked = blocked.repeat(self.heads, 1, 1)
        h = self.inp(x)
        a, _ = self.attn(h, h, h, attn_mask=blocked, need_weights=False)
        return self.out(F.relu(h + a))


torch.manual_seed(0)
model = NeighbourAttention()
example_inputs = (torch.randn(6, 10, 5), torch.randn(6, 10, 2),)
