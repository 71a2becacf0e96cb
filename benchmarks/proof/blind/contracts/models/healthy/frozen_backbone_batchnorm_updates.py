r"""The model `FineTuner`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x))).mean(dim=(2, 3))


class FineTuner(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.backbone = Backbone()
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.head = nn.Linear(16, classes)
        self.train()

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


torch.manual_seed(0)
model = FineTuner()
example_inputs = (torch.randn(8, 3, 20, 20),)
