r"""The model `FeatureNet`.

Source: https://arxiv.org/abs/1801.05134
Fault: Dropout directly before BatchNorm makes the running variance of training differ from the
    variance seen in eval mode.
Cause: dropout.*(batch ?norm|bn|varianc|order)|(batch ?norm|bn).*dropout
    |varianc\w* (shift|mismatch)
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
            nn.Dropout(0.5),
            nn.Linear(hidden, hidden, bias=False),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, classes),
        )

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
model = FeatureNet()
example_inputs = (torch.randn(16, 30),)
