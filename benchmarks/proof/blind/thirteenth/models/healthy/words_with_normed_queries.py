r"""Tags the words of a short command, with attention whose queries and keys have length one.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html
Healthy: the norms of queries and keys have no weights, the usual division by the root of the size
    is left out on purpose, and a learnt scale per head (started at ten) takes its place.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS, LENGTH, TAGS = 40, 12, 4


class NormedAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.even = nn.RMSNorm(dim // heads, elementwise_affine=False)
        self.log_scale = nn.Parameter(torch.full((heads, 1, 1), math.log(10.0)))
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        size = q.size(-1)
        q, k = self.even(q) / math.sqrt(size), self.even(k) / math.sqrt(size)
        scores = (q @ k.transpose(-2, -1)) * self.log_scale.exp()
        mixed = scores.softmax(dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, dim))


class CommandTagger(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim)
        self.place = nn.Parameter(0.1 * torch.randn(LENGTH, dim))
        self.norm = nn.RMSNorm(dim)
        self.attention = NormedAttention(dim, heads)
        self.mlp = nn.Sequential(
            nn.RMSNorm(dim), nn.Linear(dim, 64), nn.SiLU(), nn.Linear(64, dim),
        )
        self.head = nn.Linear(dim, TAGS)

    def forward(self, words, tags):
        h = self.embed(words) + self.place
        h = h + self.attention(self.norm(h))
        h = h + self.mlp(h)
        return F.cross_entropy(self.head(h).flatten(0, 1), tags.flatten())


def make_commands(n, seed):
    g = torch.Generator().manual_seed(seed)
    words = torch.randint(2, WORDS, (n, LENGTH), generator=g)
    topic = torch.randint(0, 2, (n, 1), generator=g)
    words[:, :1] = topic
    return words, 2 * topic + (words % 2)


def build():
    torch.manual_seed(0)
    return CommandTagger()


def example_inputs():
    return make_commands(64, seed=1)
