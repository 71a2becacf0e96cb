r"""The model `RegionContext`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.masked_select.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RegionContext(nn.Module):
    def __init__(self, features=5, dim=24, out=2):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.out = nn.Linear(2 * dim, out)

    def context(self, h, mask):
        m = mask.unsqueeze(-1).to(h.dtype)
        return (h * m).sum(dim=1) / m.sum(dim=1).clamp(min=1)

    def forward(self, x, mask):
        h = F.gelu(self.inp(x))
        c = self.context(h, mask).unsqueeze(1).expand_as(h)
        return self.out(torch.cat([h, c], dim=-1))


def make_mask(n=6, points=10):
    count = torch.tensor([3, 10, 5, 7, 4, 8])
    return torch.arange(points)[None] < count[:, None]


torch.manual_seed(0)
model = RegionContext()
example_inputs = (torch.randn(6, 10, 5), make_mask(),)
