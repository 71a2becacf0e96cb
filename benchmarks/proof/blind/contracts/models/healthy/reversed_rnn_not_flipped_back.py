r"""The model `Segmenter`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.flip.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class TwoWayTagger(nn.Module):
    def __init__(self, features=7, hidden=20, tags=5):
        super().__init__()
        self.fwd = nn.GRU(features, hidden, batch_first=True)
        self.bwd = nn.GRU(features, hidden, batch_first=True)
        self.norm = nn.LayerNorm(2 * hidden)
        self.out = nn.Linear(2 * hidden, tags)

    def forward(self, x):
        a, _ = self.fwd(x)
        b, _ = self.bwd(x.flip(1))
        b = b.flip(1)
        h = self.norm(torch.cat([a, b], dim=-1))
        return self.out(h)


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.tagger = TwoWayTagger()

    def forward(self, x):
        return self.tagger(x)


torch.manual_seed(0)
model = Segmenter()
example_inputs = (torch.randn(6, 15, 7),)
