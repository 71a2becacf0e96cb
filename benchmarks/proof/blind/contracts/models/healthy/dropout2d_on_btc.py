r"""The model `SpatialDropTagger`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout2d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class SpatialDropTagger(nn.Module):
    def __init__(self, vocab=150, dim=24, tags=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout1d(0.3)
        self.rnn = nn.GRU(dim, 20, batch_first=True, bidirectional=True)
        self.out = nn.Linear(40, tags)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = self.drop(x.transpose(1, 2)).transpose(1, 2)
        h, _ = self.rnn(x)
        return self.out(h)


torch.manual_seed(0)
model = SpatialDropTagger()
example_inputs = (torch.randint(0, 150, (16, 12)),)
