r"""Cuts an unspaced Chinese sentence into words with a tagger on a transformer encoder.

Source: https://github.com/FudanNLP/fastNLP/issues/254
Fault: The softmax of the four-dimensional attention scores runs over the third axis, the queries,
    where the last one, the keys, belongs.
Cause: softmax.{0,140}(dim|axis|quer\w*|keys?|wrong|third|last|-1|3)|(weights|attention|rows?).{0,100}(sum|add up|normali[sz]ed).{0,60}(quer\w*|one|1|keys?|wrong)
    |(dim|axis).{0,40}(2|-1|3|wrong|last).{0,80}(softmax|attention|scores)
Place: softmax|\bdim\b|DotAttention|attention|scores|output
"""

import math

import torch
from torch import nn


class DotAttention(nn.Module):
    def __init__(self, key_size, dropout=0.1):
        super().__init__()
        self.scale = math.sqrt(key_size)
        self.drop = nn.Dropout(dropout)
        self.softmax = nn.Softmax(dim=2)  # here

    def forward(self, q, k, v, mask_out=None):
        output = torch.matmul(q, k.transpose(-1, -2)) / self.scale
        if mask_out is not None:
            output = output.masked_fill(mask_out, -1e18)
        output = self.drop(self.softmax(output))
        return torch.matmul(output, v)


class MultiHeadAttention(nn.Module):
    def __init__(self, input_size, key_size, num_head, dropout=0.1):
        super().__init__()
        self.key_size, self.num_head = key_size, num_head
        self.q_in = nn.Linear(input_size, key_size * num_head)
        self.k_in = nn.Linear(input_size, key_size * num_head)
        self.v_in = nn.Linear(input_size, key_size * num_head)
        self.attention = DotAttention(key_size, dropout)
        self.out = nn.Linear(key_size * num_head, input_size)

    def forward(self, x, pad):
        n, length, _ = x.shape

        def split(y):
            return y.view(n, length, self.num_head, self.key_size).transpose(1, 2)

        atte = self.attention(
            split(self.q_in(x)), split(self.k_in(x)), split(self.v_in(x)), pad[:, None, None, :]
        )
        return self.out(atte.transpose(1, 2).reshape(n, length, -1))


class SubLayer(nn.Module):
    def __init__(self, model_size, inner_size, key_size, num_head, dropout):
        super().__init__()
        self.atte = MultiHeadAttention(model_size, key_size, num_head, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(model_size, 1e-6), nn.LayerNorm(model_size, 1e-6)
        self.ffn = nn.Sequential(
            nn.Linear(model_size, inner_size), nn.ReLU(), nn.Linear(inner_size, model_size)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, pad):
        x = x + self.dropout(self.atte(self.norm1(x), pad))
        return x + self.dropout(self.ffn(self.norm2(x)))


class WordCutter(nn.Module):
    def __init__(self, characters=300, size=40, layers=2, length=50, tags=4):
        super().__init__()
        self.embed = nn.Embedding(characters, size, padding_idx=0)
        self.places = nn.Embedding(length, size)
        self.layers = nn.ModuleList(SubLayer(size, 80, 10, 4, 0.1) for _ in range(layers))
        self.norm = nn.LayerNorm(size)
        self.fc = nn.Linear(size, tags)

    def forward(self, chars):
        pad = chars == 0
        x = self.embed(chars) + self.places(torch.arange(chars.shape[1], device=chars.device))
        for layer in self.layers:
            x = layer(x, pad)
        return self.fc(self.norm(x))


def build():
    return WordCutter()


def example_inputs():
    chars = torch.randint(1, 300, (4, 16))
    chars[3, 11:] = 0
    return (chars,)
