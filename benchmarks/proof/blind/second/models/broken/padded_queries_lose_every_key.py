r"""A self-attention encoder with a padding mask.

Source: https://github.com/hyunwoongko/transformer/pull/40
Fault: the padding mask is unsqueezed as (batch, 1, length, 1), so it masks whole rows of padded
    queries instead of padded keys; these rows are -inf everywhere and softmax gives nan.
Cause:
    (fully|all|entire\w*|every|whole)\b.*\bmask|mask\w*\b.*\b(rows?|quer\w+|wrong|axis|shape|dim\w*)|-inf|padd|unsqueeze
Place: make_pad_mask|\bmask\b
"""

import math

import torch
from torch import nn


class ScaleDotProductAttention(nn.Module):
    def forward(self, q, k, v, mask=None):
        score = q @ k.transpose(2, 3) / math.sqrt(q.size(-1))
        if mask is not None:
            score = score.masked_fill(mask == 0, float("-inf"))
        return torch.softmax(score, -1) @ v


class Encoder(nn.Module):
    def __init__(self, vocab=60, d_model=32, n_head=4, pad_idx=0):
        super().__init__()
        self.pad_idx, self.n_head = pad_idx, n_head
        self.emb = nn.Embedding(vocab, d_model)
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.attention = ScaleDotProductAttention()
        self.w_concat = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model)

    def make_pad_mask(self, src):
        return (src != self.pad_idx).unsqueeze(1).unsqueeze(3)  # here

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.n_head, -1).transpose(1, 2)

    def forward(self, src):
        x = self.emb(src)
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))
        out = self.attention(q, k, v, mask=self.make_pad_mask(src))
        return self.norm(x + self.w_concat(out.transpose(1, 2).flatten(2)))


def build():
    return Encoder()


def example_inputs():
    src = torch.randint(1, 60, (4, 10))
    src[1, 7:] = 0
    src[3, 4:] = 0
    return (src,)
