r"""Names the gesture in a short clip of joint angles with a small transformer and a first token.

Source: https://github.com/reczoo/FuxiCTR/issues/30
Fault: the heads are split off but not moved in front of the time axis, so each time step attends
    among its own heads only; no step sees another one and the first token learns nothing.
Cause: (head).{0,100}(transpos|permut|swap|axis|dimension|moved|before|in front|order)
    |(transpos|permut).{0,100}(head|time|sequence|token|miss)
    |(not|never|no ).{0,30}(depend|influence).{0,30}(token|position|frame|time step|another)
    |(no|none of the) (token|position|frame|time step).{0,40}(influence|see|affect)
    |attends?.{0,60}(across|among|between|over).{0,30}heads
    |attention.{0,80}(over|across|along|between|among).{0,30}(the )?heads
    |(tokens?|positions?|time steps?|frames?).{0,50}(do not|never|cannot).{0,9}(mix
    |attend|see|exchange|interact)
Place: split|heads|attention|attn|scores|q\b|transpose|FrameAttention
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMES, JOINTS, GESTURES = 16, 10, 5


class FrameAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def split(self, t):
        batch, length, dim = t.shape
        return t.view(batch, length, self.heads, dim // self.heads)  # here

    def forward(self, x):
        q, k, v = (self.split(t) for t in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        mixed = scores.softmax(dim=-1) @ v
        return self.out(mixed.reshape(x.shape))  # here


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = FrameAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GestureNet(nn.Module):
    def __init__(self, dim=32, heads=4, depth=2):
        super().__init__()
        self.embed = nn.Linear(JOINTS, dim)
        self.first = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.place = nn.Parameter(torch.randn(1, FRAMES + 1, dim) * 0.02)
        self.blocks = nn.Sequential(*[Block(dim, heads) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, GESTURES))

    def forward(self, clip, gesture):
        tokens = torch.cat([self.first.expand(len(clip), -1, -1), self.embed(clip)], dim=1)
        tokens = self.blocks(tokens + self.place)
        return F.cross_entropy(self.head(tokens[:, 0]), gesture)


def make_clips(n, seed):
    g = torch.Generator().manual_seed(seed)
    gesture = torch.randint(0, GESTURES, (n,), generator=g)
    t = torch.linspace(0, 2 * math.pi, FRAMES).view(1, FRAMES, 1)
    phase = torch.arange(JOINTS).view(1, 1, JOINTS) * 0.3
    clip = torch.sin(t * (1 + gesture.view(-1, 1, 1)) + phase)
    return clip + 0.2 * torch.randn(n, FRAMES, JOINTS, generator=g), gesture


def build():
    torch.manual_seed(0)
    return GestureNet()


def example_inputs():
    return make_clips(64, seed=2)
