r"""The model `MoleculeNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AlphaDropout.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class MoleculeNet(nn.Module):
    def __init__(self, bits=64, hidden=48, tasks=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(bits, hidden),
            nn.SELU(),
            nn.AlphaDropout(0.1),
            nn.Linear(hidden, hidden),
            nn.SELU(),
            nn.AlphaDropout(0.1),
            nn.Linear(hidden, tasks),
        )
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.kaiming_normal_(m.weight, nonlinearity="linear")
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
model = MoleculeNet()
example_inputs = (torch.randn(16, 64),)
