r"""The model `FeatureNet`.

Source: https://arxiv.org/abs/1801.05134
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class FeatureNet(nn.Module):
    def __init__(self, n_in=30, hidden=64, classes=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden, bias=False),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden, bias=False),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(hidden, classes),
        )

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
model = FeatureNet()
example_inputs = (torch.randn(16, 30),)
