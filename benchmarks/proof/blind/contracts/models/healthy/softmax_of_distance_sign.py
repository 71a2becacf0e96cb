r"""The model `PrototypeNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.cdist.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PrototypeNet(nn.Module):
    def __init__(self, n_in=16, dim=12, classes=5, temperature=1.0):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, dim))
        self.prototypes = nn.Parameter(torch.randn(classes, dim))
        self.temperature = temperature

    def distances(self, x):
        return torch.cdist(self.embed(x), self.prototypes)

    def forward(self, x):
        d = self.distances(x)
        return F.softmax(-d / self.temperature, dim=1)

    def predict(self, x):
        return self.distances(x).argmin(dim=1)


torch.manual_seed(0)
model = PrototypeNet()
example_inputs = (torch.randn(8, 16),)
