r"""The model `GatedFusion`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Bilinear.html
Fault: nn.Bilinear on large unscaled vectors has an output that grows with the dimension, so the
    following sigmoid gate saturates.
Cause: saturat|bilinear
    |(large|huge|big|growing|exploding|excessive).*(output|activation|value|scale|magnitude|gate)
    |(output|activation|scale|magnitude|variance).*(large|huge|grow|explod|too big)
"""

import torch
import torch.nn as nn


class GatedFusion(nn.Module):
    def __init__(self, a=12, b=12, dim=128, out=3):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(a, dim), nn.LayerNorm(dim))
        self.b = nn.Sequential(nn.Linear(b, dim), nn.LayerNorm(dim))
        self.gate = nn.Bilinear(dim, dim, 8)
        self.value = nn.Linear(2 * dim, 8)
        self.out = nn.Linear(8, out)

    def forward(self, a, b):
        a, b = self.a(a), self.b(b)
        g = self.gate(a, b)
        h = torch.sigmoid(g) * self.value(torch.cat([a, b], dim=-1))
        return self.out(torch.tanh(h))


torch.manual_seed(0)
model = GatedFusion()
example_inputs = (torch.randn(8, 12), torch.randn(8, 12),)
