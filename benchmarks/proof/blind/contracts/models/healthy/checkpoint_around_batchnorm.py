r"""The model `DenseNet`.

Source: https://docs.pytorch.org/docs/stable/checkpoint.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class DenseLayer(nn.Module):
    def __init__(self, cin, growth):
        super().__init__()
        self.norm = nn.GroupNorm(4, cin)
        self.conv = nn.Conv2d(cin, growth, 3, padding=1)

    def body(self, x):
        return self.conv(F.relu(self.norm(x)))

    def forward(self, x):
        if self.training:
            y = checkpoint(self.body, x, use_reentrant=False)
        else:
            y = self.body(x)
        return torch.cat([x, y], dim=1)


class DenseNet(nn.Module):
    def __init__(self, width=16, growth=8, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.layers = nn.Sequential(DenseLayer(width, growth), DenseLayer(width + growth, growth))
        self.head = nn.Linear(width + 2 * growth, classes)

    def forward(self, x):
        return self.head(self.layers(self.stem(x)).mean(dim=(2, 3)))


torch.manual_seed(0)
model = DenseNet()
example_inputs = (torch.randn(4, 3, 20, 20),)
