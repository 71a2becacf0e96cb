r"""The model `PathModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.amax.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class MaxPoolEncoder(nn.Module):
    def __init__(self, features=6, dim=32, classes=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, dim), nn.Tanh(), nn.Linear(dim, dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, x, lengths):
        steps = torch.arange(x.size(1), device=x.device)
        mask = (steps[None] < lengths[:, None]).unsqueeze(-1)
        h = self.net(x)
        h = h.masked_fill(~mask, float("-inf"))
        return self.head(h.amax(dim=1))


class PathModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = MaxPoolEncoder()

    def forward(self, x, lengths):
        return self.encoder(x, lengths)


torch.manual_seed(0)
model = PathModel()
example_inputs = (torch.randn(6, 10, 6), torch.tensor([2, 3, 10, 2, 5, 4]),)
