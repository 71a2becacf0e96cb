r"""The model `PlantNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    def __init__(self, n_in, classes):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 32)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return self.fc2(x)


class PlantNet(nn.Module):
    def __init__(self, classes=7):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 5, stride=2)
        self.head = Head(16, classes)

    def forward(self, x):
        x = F.relu(self.conv(x)).mean(dim=(2, 3))
        return torch.softmax(self.head(x), dim=1)


torch.manual_seed(0)
model = PlantNet()
example_inputs = (torch.randn(8, 3, 20, 20),)
