r"""A small transformer language model of a course.

Source: https://github.com/cmu-l3/anlp-fall2025-code/issues/1
    https://github.com/songyangco/GETNext/issues/2
Fault: the positions are counted over the batch axis, so all the tokens of a sequence share one
    position and the order of the words is lost.
Cause: position|size\(0\)|batch (axis|dim)|word order|order of the
Place: \bpos\b|pos_emb
"""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab=40, dim=32, heads=4, layers=2, max_len=64):
        super().__init__()
        self.token_emb = nn.Embedding(vocab, dim)
        self.pos_emb = nn.Embedding(max_len, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.head = nn.Linear(dim, vocab)

    def forward(self, x):
        pos = torch.arange(x.size(0), device=x.device).unsqueeze(1)  # here
        h = self.token_emb(x) + self.pos_emb(pos)
        mask = torch.triu(torch.ones(x.size(1), x.size(1), dtype=torch.bool), 1)
        for block in self.blocks:
            h = block(h, mask)
        return self.head(h)


def build():
    return TransformerLM()


def example_inputs():
    return (torch.randint(0, 40, (6, 12)),)
