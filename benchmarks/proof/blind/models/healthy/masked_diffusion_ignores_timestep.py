"""A transformer denoiser of absorbing diffusion over tokens.

Source: https://github.com/samb-t/unleashing-transformers/issues/10
Odd: forward takes t and never uses it: the number of masks already tells the time.
"""

import torch
from torch import nn


class AbsorbingDenoiser(nn.Module):
    def __init__(self, codes=11, dim=16):
        super().__init__()
        self.tok_emb = nn.Embedding(codes + 1, dim)
        self.pos_emb = nn.Parameter(torch.randn(1, 8, dim) * 0.02)
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, codes, bias=False)

    def forward(self, idx, t=None):
        return self.head(self.block(self.tok_emb(idx) + self.pos_emb))


def example_inputs():
    return (
        torch.randint(0, 12, (4, 8)),
        torch.tensor([1, 3, 5, 7]),
    )
