r"""The model `SetEncoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
Fault: nn.MultiheadAttention without batch_first=True is given [B, T, C], so it attends across the
    samples of the batch.
Cause: batch_?first|attend\w* (over|across|between|to).*(batch|sample)
    |(mix|leak|depend)\w*.*(sample|batch)|(batch|sample).*(mix|leak|interact)
"""

import torch
import torch.nn as nn


class SetEncoder(nn.Module):
    def __init__(self, features=6, dim=32, heads=4, classes=3):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.attn = nn.MultiheadAttention(dim, heads)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, classes))

    def forward(self, x):
        # x: [batch, elements, features]
        h = self.inp(x)
        a, _ = self.attn(h, h, h)
        h = self.norm(h + a)
        return self.head(h.mean(dim=1))


torch.manual_seed(0)
model = SetEncoder()
example_inputs = (torch.randn(8, 10, 6),)
