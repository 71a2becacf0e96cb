r"""The model `StyleClassifier`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.InstanceNorm2d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class StyleClassifier(nn.Module):
    def __init__(self, classes=6, width=24):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False)
        self.norm1 = nn.InstanceNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2, padding=1, bias=False)
        self.norm2 = nn.InstanceNorm2d(width)
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(self.norm2(self.conv2(x)))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.fc(x)


torch.manual_seed(0)
model = StyleClassifier()
example_inputs = (torch.randn(4, 3, 24, 24),)
