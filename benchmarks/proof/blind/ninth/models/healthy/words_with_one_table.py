r"""Language model with one table for reading and writing words and a few memory tokens.

Source: https://github.com/lucidrains/x-transformers
Odd: The scores come from the transpose of the embedding, the norms have one number as a gain,
    queries and keys are normalised and scaled by a trained number.
"""

import torch
import torch.nn.functional as F
from torch import nn


class ScaleNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.tensor(dim**0.5))

    def forward(self, x):
        return F.normalize(x, dim=-1, eps=1e-5) * self.g


class Attention(nn.Module):
    def __init__(self, dim, heads, memories):
        super().__init__()
        self.heads, self.memories = heads, memories
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.scale = nn.Parameter(torch.full((heads, 1, 1), 10.0))
        self.to_out = nn.Linear(dim, 2 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.to_qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        later = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        later[:, : self.memories] = False
        weights = scores.masked_fill(later, -torch.finfo(scores.dtype).max).softmax(-1)
        out = torch.einsum("bhij,bhjd->bhid", weights, v).transpose(1, 2).reshape(b, n, c)
        return F.glu(self.to_out(out), dim=-1)


class FeedForward(nn.Module):
    def __init__(self, dim, mult=2):
        super().__init__()
        self.project, self.out = nn.Linear(dim, 2 * mult * dim), nn.Linear(mult * dim, dim)

    def forward(self, x):
        x, gate = self.project(x).chunk(2, -1)
        return self.out(x * F.gelu(gate))


class OneTable(nn.Module):
    def __init__(self, words=200, dim=48, heads=4, depth=2, length=40, memories=3):
        super().__init__()
        self.memories = memories
        self.token_emb = nn.Embedding(words, dim)
        self.pos_emb = nn.Embedding(length, dim)
        nn.init.normal_(self.token_emb.weight, std=0.02)
        nn.init.normal_(self.pos_emb.weight, std=0.02)
        self.memory_tokens = nn.Parameter(torch.randn(memories, dim))
        self.layers = nn.ModuleList()
        for _ in range(depth):
            for part in (Attention(dim, heads, memories), FeedForward(dim)):
                self.layers.append(nn.ModuleList([ScaleNorm(dim), part]))
        self.norm = nn.LayerNorm(dim)

    def forward(self, text):
        x = self.token_emb(text) + self.pos_emb.weight[: text.size(1)]
        x = torch.cat([self.memory_tokens.expand(len(x), -1, -1), x], 1)
        for norm, part in self.layers:
            x = x + part(norm(x))
        x = self.norm(x[:, self.memories :])
        return x @ self.token_emb.weight.t()


def build():
    return OneTable()


def example_inputs():
    return (torch.randint(0, 200, (3, 20)),)
