r"""The model `TokenAttention`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class TokenAttention(nn.Module):
    def __init__(self, vocab=120, dim=32, heads=4, classes=4):
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(1, 32, dim) * 0.02)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        b, t = tokens.shape
        pad = tokens.eq(0)
        x = self.embed(tokens) + self.pos[:, :t]
        qkv = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=~pad[:, None, None, :])
        y = y.transpose(1, 2).reshape(b, t, -1)
        return self.head((x + y)[:, 0])


def make_tokens(n=6, length=12):
    tokens = torch.randint(1, 120, (n, length))
    for i in range(n):
        tokens[i, 4 + i:] = 0
    return tokens


torch.manual_seed(0)
model = TokenAttention()
example_inputs = (make_tokens(),)
