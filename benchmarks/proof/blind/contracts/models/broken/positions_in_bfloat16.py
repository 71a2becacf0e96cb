r"""The model `RotaryAttention`.

Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html
Fault: Position indices are held in bfloat16, which cannot tell integers beyond 256 apart, so many
    positions coincide.
Cause: bfloat16|bf16|precision|half
    |(duplicate|same|identical|equal|coincid|indistinguish|repeat)\w*.*position
    |position.*(duplicate|same|identical|coincid|round|collid|precision)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RotaryTable(nn.Module):
    def __init__(self, dim, length, dtype=torch.bfloat16):
        super().__init__()
        inv = 1.0 / 10000 ** (torch.arange(0, dim, 2).float() / dim)
        pos = torch.arange(length, dtype=dtype)
        angle = pos[:, None].float() * inv[None]
        self.register_buffer("cos", angle.cos().to(dtype))
        self.register_buffer("sin", angle.sin().to(dtype))

    def forward(self, x):
        a, b = x.chunk(2, dim=-1)
        cos, sin = self.cos[:x.size(-2)].to(x.dtype), self.sin[:x.size(-2)].to(x.dtype)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class RotaryAttention(nn.Module):
    def __init__(self, dim=16, length=512):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.rope = RotaryTable(dim, length)

    def forward(self, x):
        q, k = self.rope(self.q(x)), self.rope(self.k(x))
        return F.scaled_dot_product_attention(q, k, self.v(x))


torch.manual_seed(0)
model = RotaryAttention()
example_inputs = (torch.randn(2, 400, 16),)
