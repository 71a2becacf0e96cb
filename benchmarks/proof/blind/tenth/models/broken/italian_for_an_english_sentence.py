r"""Translator from English into Italian, built block by block.

Source: https://github.com/hkproj/pytorch-transformer/issues/19
Fault: The mask of the decoder is one above the diagonal and zero elsewhere, the opposite of what
    the attention takes for allowed, so each word sees only those that come after it.
Cause: (mask\w*|causal\w*|triangle|triu).{0,140}(invert\w*|opposite|wrong way|revers\w*|== ?0|negat\w*|flipped|tril|lower|upper|future|after|complement|above)
    |(future|later|following|come after|next).{0,80}(visible|seen|attend\w*|sees?|only|leak\w*|words|tokens|positions)
    |(sees?|attends?).{0,40}(only )?(the )?(future|later|those that come after|following)
Place: decoder_mask|causal_mask|triu|mask
"""

import math

import torch
from torch import nn


def causal_mask(size, device):
    return torch.triu(torch.ones((1, 1, size, size), device=device), diagonal=1).type(
        torch.int
    )  # here


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        self.h, self.d_k = h, d_model // h
        self.w_q, self.w_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_v, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        def split(x):
            return x.view(x.shape[0], x.shape[1], self.h, self.d_k).transpose(1, 2)

        query, key, value = split(self.w_q(q)), split(self.w_k(k)), split(self.w_v(v))
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        scores = scores.masked_fill(mask == 0, -1e9)
        x = self.dropout(scores.softmax(dim=-1)) @ value
        return self.w_o(x.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, d_model, h, d_ff, dropout, cross):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, h, dropout)
        self.cross_attention = MultiHeadAttention(d_model, h, dropout) if cross else None
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3 if cross else 2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask, memory=None, memory_mask=None):
        y = self.norms[0](x)
        x = x + self.dropout(self.self_attention(y, y, y, mask))
        if self.cross_attention is not None:
            y = self.norms[1](x)
            x = x + self.dropout(self.cross_attention(y, memory, memory, memory_mask))
        return x + self.dropout(self.feed_forward(self.norms[-1](x)))


class Translator(nn.Module):
    def __init__(self, english=70, italian=80, d_model=32, h=4, n=2, length=40, dropout=0.1):
        super().__init__()
        self.d_model = d_model
        self.src_embed, self.tgt_embed = (
            nn.Embedding(english, d_model),
            nn.Embedding(italian, d_model),
        )
        place = torch.arange(length).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.stack((torch.sin(place * div), torch.cos(place * div)), -1).flatten(1)
        self.register_buffer("pe", pe)
        self.encoder = nn.ModuleList(Block(d_model, h, 64, dropout, False) for _ in range(n))
        self.decoder = nn.ModuleList(Block(d_model, h, 64, dropout, True) for _ in range(n))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.project = nn.Linear(d_model, italian)

    def forward(self, source, target):
        source_mask = (source != 0).int()[:, None, None, :]
        x = self.src_embed(source) * math.sqrt(self.d_model) + self.pe[: source.shape[1]]
        for block in self.encoder:
            x = block(x, source_mask)
        memory = self.norm1(x)
        decoder_mask = causal_mask(target.shape[1], target.device)
        y = self.tgt_embed(target) * math.sqrt(self.d_model) + self.pe[: target.shape[1]]
        for block in self.decoder:
            y = block(y, decoder_mask, memory, source_mask)
        return self.project(self.norm2(y))


def build():
    return Translator()


def example_inputs():
    source = torch.randint(1, 70, (3, 10))
    source[1, 7:] = 0
    return source, torch.randint(1, 80, (3, 12))
