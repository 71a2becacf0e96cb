r"""The model `ProteinEncoder`.

Source: https://github.com/pytorch/pytorch/issues/72253
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class ProteinEncoder(nn.Module):
    def __init__(self, acids=25, dim=32, depth=3, length=40):
        super().__init__()
        self.embed = nn.Embedding(acids, dim)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=depth)
        for p in self.encoder.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
        self.head = nn.Linear(dim, 3)

    def forward(self, seq):
        x = self.embed(seq) + self.pos[:, :seq.size(1)]
        return self.head(self.encoder(x))


torch.manual_seed(0)
model = ProteinEncoder()
example_inputs = (torch.randint(0, 25, (4, 30)),)
