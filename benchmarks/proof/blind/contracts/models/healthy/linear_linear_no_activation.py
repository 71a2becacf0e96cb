r"""The model `EnergyModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class EnergyModel(nn.Module):
    def __init__(self, n_in=11, hidden=48, n_out=2):
        super().__init__()
        self.norm = nn.LayerNorm(n_in)
        self.encode = nn.Linear(n_in, hidden)
        self.transform = nn.Linear(hidden, hidden)
        self.decode = nn.Linear(hidden, n_out)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = self.norm(x)
        h = F.relu(self.encode(x))
        h = F.relu(self.transform(h))
        h = self.drop(h)
        return self.decode(h)


torch.manual_seed(0)
model = EnergyModel()
example_inputs = (torch.randn(16, 11),)
