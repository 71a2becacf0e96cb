r"""The model `DeepTower`.

Source: https://docs.pytorch.org/docs/stable/checkpoint.html
Fault: A block with dropout is checkpointed with preserve_rng_state=False, so the recomputation
    uses another dropout mask and the gradient is wrong.
Cause: preserve_rng_state|rng|random state|(different|other|another|new) (dropout )?mask|recomput
    |checkpoint.*dropout|dropout.*checkpoint
"""

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class FeedForward(nn.Module):
    def __init__(self, dim, p=0.2):
        super().__init__()
        self.net = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(p), nn.Linear(2 * dim, dim)
        )

    def forward(self, x):
        return x + self.net(x)


class DeepTower(nn.Module):
    def __init__(self, n_in=12, dim=24, depth=3, out=2):
        super().__init__()
        self.inp = nn.Linear(n_in, dim)
        self.blocks = nn.ModuleList(FeedForward(dim) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, out)

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=False, preserve_rng_state=False)
        return self.out(self.norm(h))


torch.manual_seed(0)
model = DeepTower()
example_inputs = (torch.randn(16, 12),)
