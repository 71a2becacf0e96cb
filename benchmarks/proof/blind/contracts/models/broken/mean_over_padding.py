r"""The model `MeanPoolEncoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.mean.html
Fault: The mean over time includes padded positions, so the pooled vector depends on how far the
    batch was padded.
Cause: pad.*(mean|averag|pool|includ|count|divid)|(mean|averag|pool)\w*.*(pad|mask|length|valid)
    |mask.*(ignored|unused|not used)|divid\w* by (t\b|the (full|padded|max))
    |depends on how much padding
"""

import torch
import torch.nn as nn


class MeanPoolEncoder(nn.Module):
    def __init__(self, vocab=150, dim=32, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.ff = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        mask = (tokens != 0).unsqueeze(-1)
        h = self.ff(self.embed(tokens)) * mask
        pooled = h.mean(dim=1)
        return self.head(pooled)


def make_tokens(n=6, length=14):
    tokens = torch.randint(1, 150, (n, length))
    for i in range(n):
        tokens[i, 3 + 2 * i:] = 0
    return tokens


torch.manual_seed(0)
model = MeanPoolEncoder()
example_inputs = (make_tokens(),)
