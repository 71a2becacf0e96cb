r"""Rewriting of sentences with an encoder and a decoder of attention layers.

Source: https://github.com/keitakurita/Practical_NLP_in_PyTorch/issues/1
Fault: The second attention of the decoder takes its keys and values from the decoder, so the
    encoder has no influence on the output.
Cause: (\benc\w*|source|\bsrc|memory).{0,120}(unused|never (used|read)|not (used|read)|ignor
    |no (effect|influence)|n't (use|read|depend)|not depend|discard)
    |(cross|second|decoder|\bkeys?\b|\bvalues?\b).{0,100}(encoder|enc_out|source|itself|\bown\b
    |wrong)
    |(unused|ignored).{0,60}(\benc|source)
Place: enc_out|attn_head|keys?|values?|encoder\w*
"""

import torch
from torch import nn


class MultiHead(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.value, self.projection = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, queries, keys, values, mask=None):
        def split(x):
            return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

        q, k, v = split(self.query(queries)), split(self.key(keys)), split(self.value(values))
        score = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if mask is not None:
            score = score.masked_fill(~mask, float("-inf"))
        return self.projection((score.softmax(-1) @ v).transpose(1, 2).flatten(2))


def feed_forward(dim):
    return nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn_head, self.ff = MultiHead(dim, heads), feed_forward(dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x):
        x = self.norm1(x + self.attn_head(x, x, x))
        return self.norm2(x + self.ff(x))


class DecoderBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.masked_attn_head, self.attn_head = MultiHead(dim, heads), MultiHead(dim, heads)
        self.ff = feed_forward(dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.norm3 = nn.LayerNorm(dim)

    def forward(self, x, enc_out, causal):
        att = self.masked_attn_head(x, x, x, mask=causal)
        x = self.norm1(x + att)
        att = self.attn_head(queries=x, keys=x, values=x, mask=causal)  # here
        x = self.norm2(x + att)
        return self.norm3(x + self.ff(x))


class Rewriter(nn.Module):
    def __init__(self, vocab=50, dim=32, depth=2, length=24):
        super().__init__()
        self.embed, self.place = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        self.encoder = nn.ModuleList(EncoderBlock(dim, 4) for _ in range(depth))
        self.decoder = nn.ModuleList(DecoderBlock(dim, 4) for _ in range(depth))
        self.out = nn.Linear(dim, vocab)

    def forward(self, source, target):
        memory = self.embed(source) + self.place.weight[: source.shape[1]]
        for block in self.encoder:
            memory = block(memory)
        n = target.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        x = self.embed(target) + self.place.weight[:n]
        for block in self.decoder:
            x = block(x, memory, causal)
        return self.out(x)


def build():
    return Rewriter()


def example_inputs():
    return torch.randint(0, 50, (4, 11)), torch.randint(0, 50, (4, 9))
