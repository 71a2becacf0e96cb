r"""Missing pieces of a text are put back by an encoder and a decoder with distance biases.

Source: https://github.com/google-research/text-to-text-transfer-transformer
Odd: The scores are not divided by the root of the width, since the start values of the queries
    are small instead; the biases of distance are made once and shared by all layers; the norms
    have no mean and no bias; the output is scaled because its weights are the embeddings.
"""

import torch
import torch.nn.functional as F
from torch import nn


class ScaleNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.v, self.o = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        nn.init.normal_(self.q.weight, std=(dim * dim // heads) ** -0.5)
        for layer in (self.k, self.v, self.o):
            nn.init.normal_(layer.weight, std=dim**-0.5)

    def forward(self, x, source, bias):
        def split(y):
            return y.view(*y.shape[:2], self.heads, -1).transpose(1, 2)

        score = split(self.q(x)) @ split(self.k(source)).transpose(-2, -1) + bias
        y = score.softmax(-1) @ split(self.v(source))
        return self.o(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, dim, heads, cross):
        super().__init__()
        self.norm1, self.own = ScaleNorm(dim), Attention(dim, heads)
        self.norm2 = ScaleNorm(dim) if cross else None
        self.cross = Attention(dim, heads) if cross else None
        self.norm3 = ScaleNorm(dim)
        self.wi, self.wo = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x, bias, memory=None):
        y = self.norm1(x)
        x = x + self.own(y, y, bias)
        if self.cross is not None:
            x = x + self.cross(self.norm2(x), memory, 0.0)
        return x + self.wo(F.relu(self.wi(self.norm3(x))))


class SpansBack(nn.Module):
    def __init__(self, vocab=60, dim=32, heads=4, reach=8):
        super().__init__()
        self.dim, self.reach = dim, reach
        self.shared = nn.Embedding(vocab, dim)
        self.enc_bias = nn.Embedding(2 * reach + 1, heads)
        self.dec_bias = nn.Embedding(reach + 1, heads)
        self.encoder = nn.ModuleList(Layer(dim, heads, False) for _ in range(2))
        self.decoder = nn.ModuleList(Layer(dim, heads, True) for _ in range(2))
        self.norm_e, self.norm_d = ScaleNorm(dim), ScaleNorm(dim)

    def forward(self, source, target):
        x, place = self.shared(source), torch.arange(source.shape[1])
        step = (place[None] - place[:, None]).clamp(-self.reach, self.reach) + self.reach
        bias = self.enc_bias(step).permute(2, 0, 1)
        for layer in self.encoder:
            x = layer(x, bias)
        memory, place = self.norm_e(x), torch.arange(target.shape[1])
        step = place[:, None] - place[None]
        bias = self.dec_bias(step.clamp(0, self.reach)).permute(2, 0, 1)
        bias = bias.masked_fill(step < 0, float("-inf"))
        y = self.shared(target)
        for layer in self.decoder:
            y = layer(y, bias, memory)
        return F.linear(self.norm_d(y) * self.dim**-0.5, self.shared.weight)


def build():
    return SpansBack()


def example_inputs():
    return torch.randint(0, 60, (4, 14)), torch.randint(0, 60, (4, 9))
