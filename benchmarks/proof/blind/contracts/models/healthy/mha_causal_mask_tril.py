r"""The model `TinyGPT`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class CausalBlock(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))

    def forward(self, x):
        t = x.size(1)
        mask = torch.ones(t, t, device=x.device).triu(1).bool()
        h = self.norm1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class TinyGPT(nn.Module):
    def __init__(self, vocab=80, dim=32, length=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        self.block = CausalBlock(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        return self.head(self.block(self.tok(tokens) + self.pos[:, :tokens.size(1)]))


torch.manual_seed(0)
model = TinyGPT()
example_inputs = (torch.randint(0, 80, (4, 16)),)
