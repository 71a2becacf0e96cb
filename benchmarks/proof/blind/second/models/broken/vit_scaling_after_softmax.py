r"""A vision transformer's attention, with the scaling in the wrong place.

Source: https://github.com/FrancescoSaverioZuppichini/ViT/issues/2
Fault: the scores are multiplied by 1/sqrt(d) after the softmax instead of before, so the weights of
    a query sum to 0.12 and the scores are unscaled.
Cause: \bscal(e|ed|ing)\b|(after|before) (the )?softmax|sum to|sqrt
Place: \batt\b|scaling
"""

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, emb_size=128, num_heads=2, dropout=0.0):
        super().__init__()
        self.emb_size, self.num_heads = emb_size, num_heads
        self.qkv = nn.Linear(emb_size, emb_size * 3)
        self.att_drop = nn.Dropout(dropout)
        self.projection = nn.Linear(emb_size, emb_size)
        self.scaling = (emb_size // num_heads) ** -0.5

    def forward(self, x):
        b, n, _ = x.shape
        qkv = self.qkv(x).view(b, n, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        queries, keys, values = qkv.unbind(0)
        energy = torch.einsum("bhqd, bhkd -> bhqk", queries, keys)
        att = F.softmax(energy, dim=-1) * self.scaling  # here
        out = torch.einsum("bhal, bhlv -> bhav", self.att_drop(att), values)
        return self.projection(out.transpose(1, 2).reshape(b, n, self.emb_size))


class ViT(nn.Module):
    def __init__(self, emb_size=128, classes=10):
        super().__init__()
        self.patches = nn.Conv2d(3, emb_size, 8, 8)
        self.norm = nn.LayerNorm(emb_size)
        self.attention = MultiHeadAttention(emb_size)
        self.head = nn.Linear(emb_size, classes)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = x + self.attention(self.norm(x))
        return self.head(x.mean(1))


def build():
    return ViT()


def example_inputs():
    return (torch.randn(2, 3, 32, 32),)
