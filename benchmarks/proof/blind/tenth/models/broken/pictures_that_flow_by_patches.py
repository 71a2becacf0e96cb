r"""Transformer over patches that predicts the velocity of a picture on its way from noise.

Source: https://github.com/ArchiMickey/Just-a-DiT/pull/9
Fault: The time runs from zero to one but its waves were made for steps up to a thousand, so all
    the codes of time are nearly the same.
Cause: (time\w*|\bt\b).{0,140}(scal\w*|multipl\w*|1000|thousand|too small|nearly (constant|the same)|almost (constant|the same)|0.{0,8}1|range|zero to one|max_period|frequenc\w*)
    |max_period.{0,120}(10000|too|range|large|\[?0)|(embedding|code|condition\w*|wave)\w*.{0,100}(nearly|almost) (constant|the same|identical|equal)
Place: max_period|\bt\b|t_embedder|timestep_embedding|TimeEmbedder|scale|freqs
"""

import math

import torch
from torch import nn


class TimeEmbedder(nn.Module):
    def __init__(self, width, frequencies=64):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(frequencies, width), nn.SiLU(), nn.Linear(width, width))
        self.frequencies = frequencies

    @staticmethod
    def timestep_embedding(t, dim, max_period=10000):
        half = dim // 2
        place = torch.arange(half, dtype=torch.float32, device=t.device)
        freqs = torch.exp(-math.log(max_period) * place / half)
        args = t[:, None].float() * freqs[None]  # here
        return torch.cat((torch.cos(args), torch.sin(args)), dim=-1)

    def forward(self, t):
        return self.mlp(self.timestep_embedding(t, self.frequencies))


class PatchBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.ada = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def forward(self, x, c):
        s1, b1, g1, s2, b2, g2 = self.ada(c).unsqueeze(1).chunk(6, dim=2)
        h = self.norm1(x) * (1 + s1) + b1
        x = x + g1 * self.attn(h, h, h, need_weights=False)[0]
        return x + g2 * self.mlp(self.norm2(x) * (1 + s2) + b2)


class PatchVelocity(nn.Module):
    def __init__(self, size=16, patch=4, channels=3, width=48, depth=3, heads=4):
        super().__init__()
        self.patch, self.channels = patch, channels
        self.embed = nn.Conv2d(channels, width, patch, patch)
        self.places = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2, width))
        self.t_embedder = TimeEmbedder(width)
        self.blocks = nn.ModuleList(PatchBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.last = nn.Linear(width, patch * patch * channels)

    def forward(self, picture):
        noise = torch.randn_like(picture)
        t = torch.rand(len(picture), device=picture.device)
        way = t[:, None, None, None]
        x = self.embed((1 - way) * noise + way * picture)
        side = x.shape[-1]
        x = x.flatten(2).transpose(1, 2) + self.places
        c = self.t_embedder(t)
        for block in self.blocks:
            x = block(x, c)
        x = self.last(self.norm(x)).view(-1, side, side, self.channels, self.patch, self.patch)
        v = x.permute(0, 3, 1, 4, 2, 5).reshape(picture.shape)
        return (v - (picture - noise)).square().mean((1, 2, 3))


def build():
    return PatchVelocity()


def example_inputs():
    return (2 * torch.rand(6, 3, 16, 16) - 1,)
