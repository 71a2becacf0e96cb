r"""The model `BiasedAttention`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.baddbmm.html
Fault: baddbmm's beta scales the added bias, alpha the product; the attention scale is given as
    beta, so the scores stay unscaled.
Cause: alpha|beta|scal|baddbmm|saturat
"""

import torch
import torch.nn as nn


class BiasedAttention(nn.Module):
    def __init__(self, dim=48, length=16):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim, bias=False)
        self.v = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)
        self.bias = nn.Parameter(torch.randn(1, length, length) * 0.1)
        self.scale = dim ** -0.5

    def forward(self, x):
        t = x.size(1)
        q, k, v = self.q(x), self.k(x), self.v(x)
        bias = self.bias[:, :t, :t].expand(x.size(0), t, t)
        scores = torch.baddbmm(bias, q, k.transpose(1, 2), beta=self.scale)
        return self.out(torch.bmm(scores.softmax(dim=-1), v))


torch.manual_seed(0)
model = BiasedAttention()
example_inputs = (torch.randn(4, 12, 48),)
