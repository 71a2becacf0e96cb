r"""Language model of protein sequences with several small heads.

Source: https://github.com/Graylab/DL4Proteins-notebooks/issues/12
Fault: The scores of each head are scaled by the width of the model in place of that of the head,
    so attention is flatter than it should be.
Cause: (score|logit|attention|softmax)\w* .*(scal|too small|uniform|flat|sqrt)
    |scal\w+ .*(score|attention|head)
Place: \bwei\b
"""

import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, dim, head_size, length):
        super().__init__()
        self.key = nn.Linear(dim, head_size, bias=False)
        self.query = nn.Linear(dim, head_size, bias=False)
        self.value = nn.Linear(dim, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(length, length)))

    def forward(self, x):
        _, T, C = x.shape
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * C**-0.5  # here
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return F.softmax(wei, dim=-1) @ self.value(x)


class Block(nn.Module):
    def __init__(self, dim, heads, length):
        super().__init__()
        self.heads = nn.ModuleList([Head(dim, dim // heads, length) for _ in range(heads)])
        self.proj = nn.Linear(dim, dim)
        self.ffwd = nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim))
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x):
        y = self.ln1(x)
        x = x + self.proj(torch.cat([h(y) for h in self.heads], dim=-1))
        return x + self.ffwd(self.ln2(x))


class ProteinLM(nn.Module):
    def __init__(self, vocab=26, dim=64, length=32):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.positions = nn.Embedding(length, dim)
        self.blocks = nn.Sequential(*[Block(dim, 4, length) for _ in range(2)])
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.size(1)))
        return self.lm_head(self.blocks(x))


def build():
    return ProteinLM()


def example_inputs():
    return torch.randint(0, 26, (4, 24))
