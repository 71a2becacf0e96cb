r"""The model `SequenceAutoencoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.repeat.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class SequenceAutoencoder(nn.Module):
    def __init__(self, features=4, hidden=24):
        super().__init__()
        self.encoder = nn.GRU(features, hidden, batch_first=True)
        self.decoder = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, features)

    def forward(self, x):
        b, t, _ = x.shape
        _, h = self.encoder(x)
        z = h[-1]
        z = z.repeat(1, t).view(b, t, -1)
        y, _ = self.decoder(z)
        return self.out(y)


torch.manual_seed(0)
model = SequenceAutoencoder()
example_inputs = (torch.randn(6, 10, 4),)
