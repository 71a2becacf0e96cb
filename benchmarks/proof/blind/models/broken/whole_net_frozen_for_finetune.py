"""Fine-tuning of a lane detector with a frozen backbone.

Source: https://github.com/cfzd/Ultra-Fast-Lane-Detection/issues/282
Fault: the loop freezes all parameters of the network instead of its backbone: nothing can train.
Cause: freez|frozen|requires_grad
Place: cls|pool|head|requires_grad
"""

import torch
from torch import nn


class ParsingNet(nn.Module):
    def __init__(self, griding=8, lanes=2, finetune=True):
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2)
        )
        self.pool = nn.Conv2d(8, 4, 1)
        self.cls = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, griding * lanes))
        self.shape = (griding, lanes)
        if finetune:
            for param in self.parameters():  # here
                param.requires_grad = False

    def forward(self, x):
        fea = self.pool(self.model(x)).flatten(1)
        return self.cls(fea).view(-1, *self.shape)


def example_inputs():
    return (torch.randn(2, 3, 16, 16),)
