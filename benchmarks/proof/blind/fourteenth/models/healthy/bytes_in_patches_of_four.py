r"""A two-level transformer over bytes, a global one over patches and a local one inside of them.

Source: https://github.com/lucidrains/MEGABYTE-pytorch/issues/13
Healthy: keys and values are projected to the width of one head only, while the queries have all
    heads; the asker took it for a bug, but it is attention with one shared key and value head.
    The start tokens shift the input, so that no byte sees itself.
"""

import torch
import torch.nn.functional as F
from torch import nn, einsum


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-8):
        super().__init__()
        self.scale = dim ** -0.5
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        norm = torch.norm(x, dim=-1, keepdim=True) * self.scale
        return x / norm.clamp(min=self.eps) * self.g


def FeedForward(*, dim, mult=4, dropout=0.):
    return nn.Sequential(
        RMSNorm(dim),
        nn.Linear(dim, dim * mult),
        nn.GELU(),
        nn.Dropout(dropout),
        nn.Linear(dim * mult, dim)
    )


class Attention(nn.Module):
    def __init__(self, *, dim, dim_head=16, heads=4, dropout=0.):
        super().__init__()
        self.scale = dim_head ** -0.5
        self.heads = heads
        inner_dim = dim_head * heads

        self.dropout = nn.Dropout(dropout)
        self.norm = RMSNorm(dim)
        self.to_q = nn.Linear(dim, inner_dim, bias=False)
        self.to_kv = nn.Linear(dim, dim_head * 2, bias=False)
        self.to_out = nn.Linear(inner_dim, dim, bias=False)

    def forward(self, x):
        b, n, _, h = *x.shape, self.heads
        x = self.norm(x)
        q = self.to_q(x).view(b, n, h, -1).transpose(1, 2)
        k, v = self.to_kv(x).chunk(2, dim=-1)

        sim = einsum("b h i d, b j d -> b h i j", q, k) * self.scale
        causal_mask = torch.ones((n, n), device=x.device, dtype=torch.bool).triu(1)
        sim = sim.masked_fill(causal_mask, -torch.finfo(sim.dtype).max)

        attn = self.dropout(sim.softmax(dim=-1))
        out = einsum("b h i j, b j d -> b h i d", attn, v)
        out = out.transpose(1, 2).reshape(b, n, -1)
        return self.to_out(out)


class Transformer(nn.Module):
    def __init__(self, *, dim, layers, dim_head=16, heads=4, ff_mult=2):
        super().__init__()
        self.layers = nn.ModuleList([])
        for _ in range(layers):
            self.layers.append(nn.ModuleList([
                Attention(dim=dim, dim_head=dim_head, heads=heads),
                FeedForward(dim=dim, mult=ff_mult)
            ]))
        self.norm = RMSNorm(dim)

    def forward(self, x):
        for attn, ff in self.layers:
            x = attn(x) + x
            x = ff(x) + x
        return self.norm(x)


class MEGABYTE(nn.Module):
    def __init__(self, num_tokens=64, dim=(64, 32), depth=(2, 1), max_seq_len=(8, 4)):
        super().__init__()
        dim_global, dim_local = dim
        self.patches, self.patch_size = max_seq_len
        self.global_emb = nn.Embedding(num_tokens, dim_global // self.patch_size)
        self.global_pos = nn.Embedding(self.patches, dim_global)
        self.local_emb = nn.Embedding(num_tokens, dim_local)
        self.local_pos = nn.Embedding(self.patch_size, dim_local)
        self.global_start = nn.Parameter(torch.randn(dim_global))
        self.local_start = nn.Parameter(torch.randn(dim_local))
        self.global_transformer = Transformer(dim=dim_global, layers=depth[0])
        self.to_local = nn.Linear(dim_global, dim_local * self.patch_size)
        self.local_transformer = Transformer(dim=dim_local, layers=depth[1])
        self.to_logits = nn.Linear(dim_local, num_tokens)

    def forward(self, ids):
        b, n = ids.shape
        p, s = self.patches, self.patch_size

        g = self.global_emb(ids).reshape(b, p, -1) + self.global_pos.weight
        g = torch.cat([self.global_start.expand(b, 1, -1), g[:, :-1]], dim=1)
        g = self.global_transformer(g)
        g = self.to_local(g).view(b * p, s, -1)

        t = self.local_emb(ids).view(b * p, s, -1) + self.local_pos.weight
        t = torch.cat([self.local_start.expand(b * p, 1, -1), t[:, :-1]], dim=1)
        t = self.local_transformer(t + g)

        logits = self.to_logits(t).view(b, n, -1)
        return F.cross_entropy(logits.transpose(1, 2), ids)


def build():
    torch.manual_seed(0)
    return MEGABYTE()


def example_inputs():
    torch.manual_seed(1)
    follow = torch.randint(0, 64, (64,))
    ids = [torch.randint(0, 64, (16,))]
    for _ in range(31):
        ids.append(follow[ids[-1]])
    return (torch.stack(ids, 1),)
