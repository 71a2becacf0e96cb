"""An encoder that masks padded keys and leaves padded queries alone.

Source: https://github.com/pytorch/pytorch/issues/41508
Odd: padded positions still compute attention; the mean over tokens drops them.
"""

import torch
from torch import nn


class MaskedEncoder(nn.Module):
    def __init__(self, vocab=12, dim=16, pad=0, classes=3):
        super().__init__()
        self.pad = pad
        self.embed = nn.Embedding(vocab, dim, padding_idx=pad)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.cls = nn.Linear(dim, classes)

    def forward(self, tokens):
        padding = tokens == self.pad
        x = self.embed(tokens)
        h, _ = self.attn(x, x, x, key_padding_mask=padding, need_weights=False)
        h = self.norm(x + h).masked_fill(padding.unsqueeze(-1), 0.0)
        return self.cls(h.sum(1) / (~padding).sum(1, keepdim=True))


def example_inputs():
    return (torch.tensor([[4, 5, 6, 0], [7, 2, 0, 0], [3, 1, 8, 9]]),)
