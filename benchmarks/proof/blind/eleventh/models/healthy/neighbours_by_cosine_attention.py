r"""A small causal transformer with cosine attention, whose temperature is learnt in log space.

Source: https://github.com/lucidrains/memorizing-transformers-pytorch/issues/3
Healthy: queries and keys have length one and their products are multiplied by exp of a parameter,
    which starts at the log of 20; there is no division by the root of the dimension. One key and
    value serve all heads.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn, einsum

TOKENS = 20
LENGTH = 24


def l2norm(t):
    return F.normalize(t, dim=-1)


class PreNormResidual(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, **kwargs):
        return self.fn(self.norm(x), **kwargs) + x


class T5RelativePositionBias(nn.Module):
    def __init__(self, scale, num_buckets=16, max_distance=64, heads=4):
        super().__init__()
        self.scale = scale
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.relative_attention_bias = nn.Embedding(num_buckets, heads)

    @staticmethod
    def _relative_position_bucket(relative_position, num_buckets=16, max_distance=64):
        n = -relative_position
        n = torch.max(n, torch.zeros_like(n))
        max_exact = num_buckets // 2
        is_small = n < max_exact
        val_if_large = max_exact + (
            torch.log(n.float().clamp(min=1) / max_exact) / math.log(max_distance / max_exact)
            * (num_buckets - max_exact)
        ).long()
        val_if_large = val_if_large.clamp(max=num_buckets - 1)
        return torch.where(is_small, n, val_if_large)

    def forward(self, i, j, *, device):
        q_pos = torch.arange(i, dtype=torch.long, device=device)
        k_pos = torch.arange(j, dtype=torch.long, device=device)
        rel_pos = k_pos[None, :] - q_pos[:, None]
        bucket = self._relative_position_bucket(rel_pos, self.num_buckets, self.max_distance)
        return self.relative_attention_bias(bucket).permute(2, 0, 1).unsqueeze(0) * self.scale


class FeedForward(nn.Sequential):
    def __init__(self, dim, mult=2, dropout=0.):
        super().__init__(
            nn.Linear(dim, dim * mult), nn.GELU(), nn.Dropout(dropout), nn.Linear(dim * mult, dim))


class CosineAttention(nn.Module):
    def __init__(self, *, dim, heads=4, dim_head=16, dropout=0.):
        super().__init__()
        self.heads = heads
        self.scale = nn.Parameter(torch.ones(heads, 1, 1) * math.log(20.0))
        self.dropout = nn.Dropout(dropout)
        self.to_q = nn.Linear(dim, heads * dim_head, bias=False)
        self.to_kv = nn.Linear(dim, dim_head * 2, bias=False)
        self.to_out = nn.Linear(heads * dim_head, dim, bias=False)

    def forward(self, x, rel_pos_bias=None):
        b, n, _ = x.shape
        q = self.to_q(x).view(b, n, self.heads, -1).transpose(1, 2)
        k, v = self.to_kv(x).chunk(2, dim=-1)
        q, k = map(l2norm, (q, k))

        sim = einsum('b h i d, b j d -> b h i j', q, k) * self.scale.exp()
        mask_value = -torch.finfo(sim.dtype).max
        if rel_pos_bias is not None:
            sim = sim + rel_pos_bias
        causal_mask = torch.ones((n, n), dtype=torch.bool, device=x.device).triu(1)
        sim = sim.masked_fill(causal_mask, mask_value)

        attn = self.dropout(sim.softmax(dim=-1))
        out = einsum('b h i j, b j d -> b h i d', attn, v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))


class SmallTransformer(nn.Module):
    def __init__(self, num_tokens=TOKENS, dim=48, depth=2, heads=4, dim_head=16):
        super().__init__()
        self.token_emb = nn.Embedding(num_tokens, dim)
        self.rel_pos_bias = T5RelativePositionBias(scale=dim_head ** 0.5, heads=heads)
        self.layers = nn.ModuleList([nn.ModuleList([
            PreNormResidual(dim, CosineAttention(dim=dim, heads=heads, dim_head=dim_head)),
            PreNormResidual(dim, FeedForward(dim)),
        ]) for _ in range(depth)])
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_tokens))

    def forward(self, x, labels):
        n = x.shape[1]
        bias = self.rel_pos_bias(n, n, device=x.device)
        x = self.token_emb(x)
        for attn, ff in self.layers:
            x = attn(x, rel_pos_bias=bias)
            x = ff(x)
        logits = self.to_logits(x)
        return F.cross_entropy(logits.transpose(1, 2), labels)


def make_facts(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    seq = torch.zeros(n, LENGTH + 1, dtype=torch.long)
    for i in range(n):
        value = torch.randint(10, TOKENS, (4,), generator=g)
        keys = torch.randint(0, 4, (LENGTH // 2 + 1,), generator=g)
        pairs = torch.stack([keys, value[keys]], dim=1).view(-1)
        seq[i] = pairs[:LENGTH + 1]
    return seq[:, :-1], seq[:, 1:]


def build():
    torch.manual_seed(0)
    return SmallTransformer()


def example_inputs():
    return make_facts(8)
