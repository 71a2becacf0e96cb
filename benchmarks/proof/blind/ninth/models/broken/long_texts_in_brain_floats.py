r"""Language model for long texts that works in bfloat16 with rotated queries and keys.

Source: https://github.com/Modalities/modalities/pull/462
Fault: The inverse frequencies are cast to the type of the activations before they are multiplied
    by the positions, so at far positions the phase is wrong by radians.
Cause: (bf(loat)?16|half|low|reduced|precision|dtype|cast\w*|round\w*
    |activation).{0,140}(phase|freq\w*|position|angle\w*|rotary|inv_freq|rotat\w*|\bt\b)
    |(phase|freq\w*|position|angle|rotary|inv_freq).{0,140}(bf(loat)?16|half|precision|dtype
    |cast\w*|round\w*|fp32|float32)
Place: inv_freq|rotary\w*|angles?|phase|\bto\b|dtype|forward|positions?
"""

import torch
import torch.nn.functional as F
from torch import nn


class Rotary(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.inv_freq = [base ** (-i / dim) for i in range(0, dim, 2)]

    def forward(self, x):
        inv_freq = torch.tensor(self.inv_freq, device=x.device).to(x.dtype)  # here
        positions = torch.arange(x.size(2), device=x.device).to(x.dtype)  # here
        phase = torch.outer(positions, inv_freq)
        phase = torch.cat([phase, phase], 1)
        cos, sin = phase.cos().to(x.dtype), phase.sin().to(x.dtype)
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin


class Block(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv = nn.Linear(size, 3 * size, bias=False)
        self.out = nn.Linear(size, size, bias=False)
        self.rotary = Rotary(size // heads)
        self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = self.rotary(qkv[0]), self.rotary(qkv[1]), qkv[2]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class LongTexts(nn.Module):
    def __init__(self, words=256, size=32, heads=2, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.blocks = nn.Sequential(*[Block(size, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(size)
        self.head = nn.Linear(size, words, bias=False)

    def forward(self, text):
        return self.head(self.norm(self.blocks(self.embedding(text))))


def build():
    return LongTexts().to(torch.bfloat16)


def example_inputs():
    return (torch.randint(0, 256, (1, 700)),)
