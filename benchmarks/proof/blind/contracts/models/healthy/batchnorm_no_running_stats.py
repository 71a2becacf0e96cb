r"""The model `CreditModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CreditModel(nn.Module):
    def __init__(self, n_in=15, hidden=32):
        super().__init__()
        self.inp = nn.BatchNorm1d(n_in)
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        x = self.inp(x)
        x = F.gelu(self.fc1(x))
        x = F.gelu(self.fc2(x))
        return self.out(x).squeeze(-1)


torch.manual_seed(0)
model = CreditModel()
example_inputs = (torch.randn(16, 15),)
