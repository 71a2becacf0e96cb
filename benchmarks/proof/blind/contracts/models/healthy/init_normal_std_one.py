r"""The model `PINN`.

Source: https://docs.pytorch.org/docs/stable/nn.init.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PINN(nn.Module):
    def __init__(self, n_in=3, width=128, depth=4):
        super().__init__()
        self.inp = nn.Linear(n_in, width)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.out = nn.Linear(width, 1)
        for m in [self.inp, *self.hidden, self.out]:
            nn.init.kaiming_normal_(m.weight)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        h = F.relu(self.inp(x))
        for layer in self.hidden:
            h = F.relu(layer(h))
        return self.out(h)


torch.manual_seed(0)
model = PINN()
example_inputs = (torch.randn(16, 3),)
