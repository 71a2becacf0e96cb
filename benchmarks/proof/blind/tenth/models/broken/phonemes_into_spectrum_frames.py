r"""Mel spectrum from the phonemes of a sentence, all frames at once.

Source: https://github.com/speechbrain/speechbrain/issues/2276
Fault: The position codes are multiplied by a mask that is one on the padding and zero on the
    phonemes, so every real phoneme gets a position of zero.
Cause: (position\w*|pos\b|pos_).{0,120}(zero|erase|wip|nothing|mask|lost|remov|only (on|at|for) pad)
    |mask.{0,100}(invert\w*|wrong way|opposite|reversed|negat\w*|flipped|true (on|at|for) (the )?pad|one (on|at|for) (the )?pad)
    |(no|without) (position|order)\w*
Place: srcmask|mask|\bpos\b|positional|src_mask|get_key_padding_mask|pos_embed
"""

import math

import torch
from torch import nn


def get_key_padding_mask(tokens, pad):
    return tokens == pad


class PositionalEmbedding(nn.Module):
    def __init__(self, width):
        super().__init__()
        inv_freq = torch.exp(-math.log(10000) * torch.arange(0, width, 2) / width)
        self.register_buffer("inv_freq", inv_freq)

    def forward(self, length, mask):
        places = torch.arange(length, device=mask.device, dtype=self.inv_freq.dtype)
        angle = places[:, None] * self.inv_freq[None]
        emb = torch.cat((angle.sin(), angle.cos()), 1)
        return emb[None] * mask.unsqueeze(-1).to(emb.dtype)


class SpectrumModel(nn.Module):
    def __init__(self, phonemes=40, width=48, mels=20, heads=2, layers=2, pad=0):
        super().__init__()
        self.pad = pad
        self.embed = nn.Embedding(phonemes, width, padding_idx=pad)
        self.pos_embed = PositionalEmbedding(width)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, 0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.duration = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
        self.mel = nn.Linear(width, mels)

    def forward(self, tokens):
        srcmask = get_key_padding_mask(tokens, self.pad)
        pos = self.pos_embed(tokens.shape[1], srcmask)  # here
        x = self.embed(tokens) + pos
        x = self.encoder(x, src_key_padding_mask=srcmask)
        keep = (~srcmask).unsqueeze(-1).to(x.dtype)
        return self.mel(x) * keep, self.duration(x).squeeze(-1) * keep.squeeze(-1)


def build():
    return SpectrumModel()


def example_inputs():
    tokens = torch.randint(1, 40, (4, 15))
    tokens[2, 11:] = 0
    return (tokens,)
