r"""Trains a linear classifier on fixed features.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html
Fault: p.require_grad = False (without s) only sets a new attribute, so the backbone is not
    frozen.
Cause: require_grad\b|typo|misspel|not (actually )?(frozen|froze)
    |(still|remain\w*) (trainable|requires)|frozen|freez|unknown attribute
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, cin=3, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, width, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2, padding=1)

    def forward(self, x):
        return F.relu(self.conv2(F.relu(self.conv1(x)))).mean(dim=(2, 3))


class LinearProbe(nn.Module):
    """Trains a linear classifier on fixed features."""

    def __init__(self, classes=7):
        super().__init__()
        self.encoder = Encoder()
        for p in self.encoder.parameters():
            p.require_grad = False
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.encoder(x))


torch.manual_seed(0)
model = LinearProbe()
example_inputs = (torch.randn(6, 3, 20, 20),)
