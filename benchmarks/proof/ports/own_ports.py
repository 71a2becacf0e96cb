"""Ports of public models in other styles: fused or split layers, other names, functional code."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F


class SplitAttention(nn.Module):
    """Causal attention with q, k and v of their own, and the softmax written out."""

    def __init__(self, dim, heads, *, causal=True, bias=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.query, self.key, self.value, self.out = (
            nn.Linear(dim, dim, bias=bias) for _ in range(4)
        )
        self.scale = 1 / math.sqrt(dim // heads)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (
            layer(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(-2, -1) * self.scale
        if self.causal:
            mask = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(mask, float("-inf"))
        mixed = scores.softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(b, t, d))


class FusedAttention(nn.Module):
    """Attention with one layer for q, k and v, in code of functions."""

    def __init__(self, dim, heads, *, causal=True, bias=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=bias)
        self.to_out = nn.Linear(dim, dim, bias=bias)
        self.scale = 1 / math.sqrt(dim // heads)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.to_qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=self.scale)
        return self.to_out(mixed.transpose(1, 2).reshape(b, t, d))


class Feed(nn.Module):
    """Two layers and an activation: a module, or a function."""

    def __init__(self, dim, hidden, act):
        super().__init__()
        self.expand, self.contract = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        self.act = act

    def forward(self, x):
        return self.contract(self.act(self.expand(x)))


class TanhGelu(nn.Module):
    """GELU by its approximation with tanh, written out."""

    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def tanh_gelu(x):
    """GELU by its approximation with tanh."""
    return F.gelu(x, approximate="tanh")


class PreNormLayer(nn.Module):
    """A layer of GPT-2 or ViT."""

    def __init__(self, dim, heads, hidden, act, *, attention, causal, eps):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=eps), nn.LayerNorm(dim, eps=eps)
        self.mix = attention(dim, heads, causal=causal)
        self.feed = Feed(dim, hidden, act)

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + self.feed(self.norm2(x))


class PostNormLayer(nn.Module):
    """A layer of BERT."""

    def __init__(self, dim, heads, hidden, *, attention, eps):
        super().__init__()
        self.mix = attention(dim, heads, causal=False)
        self.first = nn.LayerNorm(dim, eps=eps)
        self.feed = Feed(dim, hidden, nn.GELU())
        self.second = nn.LayerNorm(dim, eps=eps)

    def forward(self, x):
        x = self.first(x + self.mix(x))
        return self.second(x + self.feed(x))


class Gpt(nn.Module):
    """GPT-2."""

    def __init__(self, vocab, places, dim, depth, heads, *, attention=SplitAttention, act=None):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, dim), nn.Embedding(places, dim)
        act = act or TanhGelu()
        self.stack = nn.ModuleList(
            PreNormLayer(dim, heads, 4 * dim, act, attention=attention, causal=True, eps=1e-5)
            for _ in range(depth)
        )
        self.final = nn.LayerNorm(dim)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.stack:
            x = layer(x)
        return self.final(x) @ self.tokens.weight.T


class Bert(nn.Module):
    """BERT without a pooler."""

    def __init__(self, vocab, places, dim, depth, heads, hidden, *, attention=FusedAttention):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(places, dim)
        self.seg = nn.Embedding(2, dim)
        self.norm = nn.LayerNorm(dim, eps=1e-12)
        self.layers = nn.ModuleList(
            PostNormLayer(dim, heads, hidden, attention=attention, eps=1e-12) for _ in range(depth)
        )

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.tok(ids) + self.seg(torch.zeros_like(ids)) + self.pos(places))
        for layer in self.layers:
            x = layer(x)
        return x


class Vit(nn.Module):
    """ViT whose patches are cut by hand, and embedded by a linear layer."""

    def __init__(self, size, patch, dim, depth, heads, hidden, classes, *, attention, eps=1e-12):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(3 * patch * patch, dim)
        self.cls = nn.Parameter(torch.zeros(dim))
        self.pos = nn.Parameter(torch.randn((size // patch) ** 2 + 1, dim) * 0.02)
        self.layers = nn.Sequential(
            *(
                PreNormLayer(
                    dim, heads, hidden, nn.GELU(), attention=attention, causal=False, eps=eps
                )
                for _ in range(depth)
            )
        )
        self.last = nn.LayerNorm(dim, eps=eps)
        self.classify = nn.Linear(dim, classes)

    def forward(self, images):
        x = self.embed(F.unfold(images, self.patch, stride=self.patch).transpose(1, 2))
        x = torch.cat((self.cls.expand(len(x), 1, -1), x), 1) + self.pos
        return self.classify(self.last(self.layers(x))[:, 0])


class Rms(nn.Module):
    """Root mean square normalization."""

    def __init__(self, dim, eps):
        super().__init__()
        self.gain, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.gain


class GroupedAttention(nn.Module):
    """Llama's attention, with one layer for q, k and v, and rotary positions."""

    def __init__(self, dim, heads, groups, *, bias=False, theta=10000.0):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, dim // heads
        self.wqkv = nn.Linear(dim, (heads + 2 * groups) * self.size, bias=bias)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.theta = theta

    def turned(self, x):
        steps = torch.arange(x.shape[2], dtype=torch.float32, device=x.device)
        rates = self.theta ** (-torch.arange(0, self.size, 2, device=x.device).float() / self.size)
        angle = torch.outer(steps, rates)
        cos, sin = angle.cos(), angle.sin()
        left, right = x.chunk(2, -1)
        return torch.cat((left * cos - right * sin, right * cos + left * sin), -1)

    def forward(self, x):
        b, t, _ = x.shape
        sizes = [n * self.size for n in (self.heads, self.groups, self.groups)]
        q, k, v = (
            part.view(b, t, -1, self.size).transpose(1, 2) for part in self.wqkv(x).split(sizes, -1)
        )
        q, k = self.turned(q), self.turned(k)
        k, v = (part.repeat_interleave(self.heads // self.groups, 1) for part in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(mixed.transpose(1, 2).reshape(b, t, -1))


class Gated(nn.Module):
    """Llama's feed-forward part, with gate and up in one layer."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.gate_up, self.down = (
            nn.Linear(dim, 2 * hidden, bias=False), nn.Linear(hidden, dim, bias=False)
        )  # fmt: skip

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class LlamaLayer(nn.Module):
    """A layer of Llama."""

    def __init__(self, dim, heads, groups, hidden, eps, *, bias):
        super().__init__()
        self.pre, self.post = Rms(dim, eps), Rms(dim, eps)
        self.attention = GroupedAttention(dim, heads, groups, bias=bias)
        self.feed = Gated(dim, hidden)

    def forward(self, x):
        x = x + self.attention(self.pre(x))
        return x + self.feed(self.post(x))


class Llama(nn.Module):
    """Llama, Mistral, and with `bias` Qwen2."""

    def __init__(self, vocab, dim, depth, heads, groups, hidden, *, eps=1e-6, bias=False):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(
            LlamaLayer(dim, heads, groups, hidden, eps, bias=bias) for _ in range(depth)
        )
        self.norm = Rms(dim, eps)
        self.unembed = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.tok(ids)
        for block in self.blocks:
            x = block(x)
        return self.unembed(self.norm(x))


class Basic(nn.Module):
    """A residual block of two convolutions."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after),
        )  # fmt: skip
        self.skip = (
            nn.Identity()
            if before == after and stride == 1
            else nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )
        )

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


class ResNet(nn.Module):
    """A residual network of basic blocks."""

    def __init__(self, widths, depths, classes):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, widths[0], 7, 2, 3, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        blocks, before = [], widths[0]
        for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
            for i in range(depth):
                blocks.append(Basic(before, width, 2 if stage and not i else 1))
                before = width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(before, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))
