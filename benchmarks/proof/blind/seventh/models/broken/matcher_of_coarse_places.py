r"""Matching places of two pictures: coarse features with sine codes, mixed by linear attention.

Source: https://github.com/zju3dv/LoFTR/issues/41
Fault: The exponent of the sine code divides by d_model and then floors to a whole number, since
    `/ d_model // 2` is not `/ (d_model // 2)`; the frequencies fall off far too fast.
Cause: (div_term|frequenc\w*|exponent|wavelength).{0,99}(wrong|floor|precedence|fast|high|//
    |bracket|parenthes|collaps|vanish|zero|tiny)
    |(precedence|floor.?div|integer division|parenthes|bracket|//)
    |(positional?|position).{0,40}(code|encoding).{0,80}(constant|nearly|zero|wrong|useless|same)
Place: div_term|\bpe\b|\bpos\w*|log
"""

import math

import torch
from torch import nn


class SineCode(nn.Module):
    def __init__(self, d_model, shape=(16, 16)):
        super().__init__()
        pe = torch.zeros(d_model, *shape)
        y = torch.ones(shape).cumsum(0)[None]
        x = torch.ones(shape).cumsum(1)[None]
        step = torch.arange(0, d_model // 2, 2).float()
        div_term = torch.exp(step * (-math.log(10000.0) / d_model // 2))  # here
        div_term = div_term[:, None, None]
        pe[0::4], pe[1::4] = torch.sin(x * div_term), torch.cos(x * div_term)
        pe[2::4], pe[3::4] = torch.sin(y * div_term), torch.cos(y * div_term)
        self.register_buffer("pe", pe[None], persistent=False)

    def forward(self, x):
        return x + self.pe[:, :, : x.shape[2], : x.shape[3]]


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.v, self.merge = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, source):
        q, k = nn.functional.elu(self.q(x)) + 1, nn.functional.elu(self.k(source)) + 1
        kv = torch.einsum("nsd,nsv->ndv", k, self.v(source))
        scale = 1 / (torch.einsum("nld,nd->nl", q, k.sum(1)) + 1e-6)
        message = self.norm1(self.merge(torch.einsum("nld,ndv,nl->nlv", q, kv, scale)))
        return x + self.norm2(self.mlp(torch.cat([x, message], dim=2)))


class CoarseMatcher(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, dim, 3, stride=2, padding=1),
        )
        self.code = SineCode(dim)
        self.own, self.cross = Layer(dim), Layer(dim)

    def forward(self, a, b):
        fa = self.code(self.backbone(a)).flatten(2).transpose(1, 2)
        fb = self.code(self.backbone(b)).flatten(2).transpose(1, 2)
        fa, fb = self.own(fa, fa), self.own(fb, fb)
        fa, fb = self.cross(fa, fb), self.cross(fb, fa)
        score = fa @ fb.transpose(1, 2) / fa.shape[-1]
        return score.log_softmax(1) + score.log_softmax(2)


def build():
    return CoarseMatcher()


def example_inputs():
    a = torch.rand(4, 1, 32, 32)
    return a, a.roll(3, dims=3)
