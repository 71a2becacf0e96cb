r"""The model `Tagger`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
Fault: q, k, v are passed to scaled_dot_product_attention as [B, T, H, D], so attention runs over
    the heads of one step instead of over time.
Cause: (attend|attention)\w*.*(head|wrong (axis|dim)|over the heads|within)|\[?b, ?t, ?h|transpos
    |head.*(axis|dim|swap|sequence)|layout|no (interaction|mixing|exchange).*(time|token|position)
    |(token|position|step)s?.*(independent|never|not)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (u.view(b, t, self.heads, c // self.heads) for u in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.reshape(b, t, c))


class Tagger(nn.Module):
    def __init__(self, features=8, dim=32, tags=5):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.pos = nn.Parameter(torch.randn(1, 32, dim) * 0.02)
        self.attn = Attention(dim)
        self.head = nn.Linear(dim, tags)

    def forward(self, x):
        h = self.inp(x) + self.pos[:, :x.size(1)]
        return self.head(h + self.attn(h))


torch.manual_seed(0)
model = Tagger()
example_inputs = (torch.randn(4, 12, 8),)
