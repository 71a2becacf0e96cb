r"""The model `FilterbankNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.log.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class FilterbankNet(nn.Module):
    def __init__(self, bins=32, bands=12, classes=4):
        super().__init__()
        self.bank = nn.Linear(bins, bands)
        self.norm = nn.LayerNorm(bands)
        self.rnn = nn.GRU(bands, 16, batch_first=True)
        self.head = nn.Linear(16, classes)

    def forward(self, spec):
        # spec: [batch, frames, bins]
        e = F.relu(self.bank(spec))
        e = torch.log1p(e)
        _, h = self.rnn(self.norm(e))
        return self.head(h[-1])


torch.manual_seed(0)
model = FilterbankNet()
example_inputs = (torch.rand(4, 10, 32),)
