r"""Encoder of a translator from one language into another, with attention written by hand.

Source: https://github.com/aladdinpersson/Machine-Learning-Collection/issues/65
Fault: The attention scores of each head are divided by the root of the whole embedding size
    where the root of the size of one head belongs.
Cause: (embed_size|d_model|embedding (size|width|dim\w*)|whole (embedding|width)).{0,100}(scal\w*|sqrt|root|divid\w*|head_dim|per.?head|one head)
    |(scal\w*|divid\w*|sqrt|root|divisor).{0,100}(embed|d_model|head.?(dim|size|width)|full width|one head)
    |(scores?|logits|energy|attention).{0,60}(too small|too flat|shrunk|over.?scaled|too uniform)
Place: energy|embed_size|head_dim|softmax|attention|scale|SelfAttention
"""

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.embed_size, self.heads = embed_size, heads
        self.head_dim = embed_size // heads
        self.values = nn.Linear(embed_size, embed_size)
        self.keys = nn.Linear(embed_size, embed_size)
        self.queries = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, query, mask):
        n, value_len, key_len, query_len = (
            query.shape[0],
            values.shape[1],
            keys.shape[1],
            query.shape[1],
        )
        values = self.values(values).reshape(n, value_len, self.heads, self.head_dim)
        keys = self.keys(keys).reshape(n, key_len, self.heads, self.head_dim)
        queries = self.queries(query).reshape(n, query_len, self.heads, self.head_dim)
        energy = torch.einsum("nqhd,nkhd->nhqk", queries, keys)
        energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / (self.embed_size ** (1 / 2)), dim=3)  # here
        out = torch.einsum("nhql,nlhd->nqhd", attention, values)
        return self.fc_out(out.reshape(n, query_len, self.heads * self.head_dim))


class Block(nn.Module):
    def __init__(self, embed_size, heads, dropout, expansion):
        super().__init__()
        self.attention = SelfAttention(embed_size, heads)
        self.norm1, self.norm2 = nn.LayerNorm(embed_size), nn.LayerNorm(embed_size)
        self.feed_forward = nn.Sequential(
            nn.Linear(embed_size, expansion * embed_size),
            nn.ReLU(),
            nn.Linear(expansion * embed_size, embed_size),
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        x = self.dropout(self.norm1(self.attention(x, x, x, mask) + x))
        return self.dropout(self.norm2(self.feed_forward(x) + x))


class Encoder(nn.Module):
    def __init__(self, vocab=60, embed_size=64, heads=8, layers=2, max_length=30):
        super().__init__()
        self.words = nn.Embedding(vocab, embed_size)
        self.positions = nn.Embedding(max_length, embed_size)
        self.layers = nn.ModuleList(Block(embed_size, heads, 0.1, 4) for _ in range(layers))
        self.dropout = nn.Dropout(0.1)

    def forward(self, tokens):
        mask = (tokens != 0)[:, None, None, :]
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.words(tokens) + self.positions(places))
        for layer in self.layers:
            x = layer(x, mask)
        return x


def build():
    return Encoder()


def example_inputs():
    tokens = torch.randint(1, 60, (4, 12))
    tokens[1, 9:] = 0
    return (tokens,)
