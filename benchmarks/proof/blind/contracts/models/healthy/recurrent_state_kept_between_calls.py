r"""The model `RadarModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.GRU.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class RadarModel(nn.Module):
    def __init__(self, features=5, hidden=16, classes=3):
        super().__init__()
        self.gru = nn.GRU(features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, x):
        self.reset()
        out, h = self.gru(x, self.state)
        self.state = h.detach()
        return self.head(out[:, -1])


torch.manual_seed(0)
model = RadarModel()
example_inputs = (torch.randn(6, 15, 5),)
