r"""Attention layers of a transformer toolbox with a norm in front and options for the residual.

Source: https://github.com/lucidrains/x-transformers/issues/127
Healthy: the residual is kept by its name only, without a clone, before the norm is applied to x;
    the asker feared that the norm changes it too, but none of the operations works in place.
"""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn, einsum


def exists(val):
    return val is not None


def default(val, d):
    return val if exists(val) else d


class ScaleNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(1) * (dim ** -0.5))

    def forward(self, x):
        norm = torch.norm(x, dim=-1, keepdim=True)
        return x / norm.clamp(min=self.eps) * self.g


class Residual(nn.Module):
    def __init__(self, dim, scale_residual=False):
        super().__init__()
        self.residual_scale = nn.Parameter(torch.ones(dim)) if scale_residual else None

    def forward(self, x, residual):
        if exists(self.residual_scale):
            residual = residual * self.residual_scale
        return x + residual


class GEGLU(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.proj = nn.Linear(dim_in, dim_out * 2)

    def forward(self, x):
        x, gate = self.proj(x).chunk(2, dim=-1)
        return x * F.gelu(gate)


class FeedForward(nn.Module):
    def __init__(self, dim, mult=2, dropout=0.):
        super().__init__()
        inner_dim = int(dim * mult)
        self.ff = nn.Sequential(
            GEGLU(dim, inner_dim),
            nn.Dropout(dropout),
            nn.Linear(inner_dim, dim)
        )

    def forward(self, x):
        return self.ff(x)


class Attention(nn.Module):
    def __init__(self, dim, dim_head=16, heads=4, causal=True, dropout=0.):
        super().__init__()
        self.scale = dim_head ** -0.5
        self.heads = heads
        self.causal = causal
        self.to_q = nn.Linear(dim, dim_head * heads, bias=False)
        self.to_k = nn.Linear(dim, dim_head * heads, bias=False)
        self.to_v = nn.Linear(dim, dim_head * heads, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.to_out = nn.Linear(dim_head * heads, dim, bias=False)

    def forward(self, x):
        b, n, _, h = *x.shape, self.heads
        q, k, v = self.to_q(x), self.to_k(x), self.to_v(x)
        q, k, v = map(lambda t: t.view(b, n, h, -1).transpose(1, 2), (q, k, v))
        dots = einsum('b h i d, b h j d -> b h i j', q, k) * self.scale
        if self.causal:
            mask = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
            dots.masked_fill_(mask, -torch.finfo(dots.dtype).max)
        attn = self.dropout(dots.softmax(dim=-1))
        out = einsum('b h i j, b h j d -> b h i d', attn, v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))


class AttentionLayers(nn.Module):
    def __init__(self, dim, depth, heads=4, pre_norm=True, use_scalenorm=False,
                 scale_residual=True, attn_dropout=0., ff_dropout=0.):
        super().__init__()
        self.pre_norm = pre_norm
        norm_class = ScaleNorm if use_scalenorm else nn.LayerNorm
        norm_fn = partial(norm_class, dim)
        self.layers = nn.ModuleList([])
        self.layer_types = ('a', 'f') * depth
        for layer_type in self.layer_types:
            if layer_type == 'a':
                layer = Attention(dim, heads=heads, dropout=attn_dropout)
            else:
                layer = FeedForward(dim, dropout=ff_dropout)
            residual = Residual(dim, scale_residual=scale_residual)
            norms = nn.ModuleList([norm_fn() if pre_norm else None])
            self.layers.append(nn.ModuleList([norms, layer, residual]))

    def forward(self, x):
        for ind, (layer_type, (norm, block, residual_fn)) in enumerate(
                zip(self.layer_types, self.layers)):
            residual = x
            pre_branch_norm, = norm

            if exists(pre_branch_norm):
                x = pre_branch_norm(x)

            out = block(x)
            x = residual_fn(out, residual)
        return x


class TransformerWrapper(nn.Module):
    def __init__(self, num_tokens, max_seq_len, dim=48, depth=2):
        super().__init__()
        self.token_emb = nn.Embedding(num_tokens, dim)
        self.pos_emb = nn.Embedding(max_seq_len, dim)
        self.attn_layers = AttentionLayers(dim, depth)
        self.norm = nn.LayerNorm(dim)
        self.to_logits = nn.Linear(dim, num_tokens)
        nn.init.kaiming_normal_(self.token_emb.weight)

    def forward(self, x):
        n = x.shape[1]
        x = self.token_emb(x) + self.pos_emb(torch.arange(n, device=x.device))
        return self.to_logits(self.norm(self.attn_layers(x)))


def build():
    torch.manual_seed(0)
    return TransformerWrapper(40, 24)


def example_inputs():
    torch.manual_seed(1)
    follow = torch.randint(0, 40, (40,))
    x = [torch.randint(0, 40, (12,))]
    for _ in range(23):
        x.append(follow[x[-1]])
    return (torch.stack(x, 1),)
