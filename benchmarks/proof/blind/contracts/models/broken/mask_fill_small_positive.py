r"""The model `Decoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.masked_fill.html
Fault: Masked scores are filled with 1e-9 instead of a large negative number (-1e9), so masked
    positions keep weight.
Cause: 1e-0?9|-1e9|-inf|(large|big) negative
    |mask.*(not|no|still|ineffective|weight|fill|near zero|leak|futur)|futur|fill value
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MaskedSelfAttention(nn.Module):
    def __init__(self, dim=32, length=32):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)))

    def forward(self, x):
        t, c = x.shape[1:]
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / math.sqrt(c)
        scores = scores.masked_fill(self.mask[:t, :t] == 0, 1e-9)
        return self.proj(F.softmax(scores, dim=-1) @ v)


class Decoder(nn.Module):
    def __init__(self, vocab=70, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, 32, dim) * 0.02)
        self.attn = MaskedSelfAttention(dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens):
        x = self.embed(tokens) + self.pos[:, :tokens.size(1)]
        return self.out(x + self.attn(x))


torch.manual_seed(0)
model = Decoder()
example_inputs = (torch.randint(0, 70, (4, 16)),)
