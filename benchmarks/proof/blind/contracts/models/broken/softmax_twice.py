r"""The model `PlantNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html
Fault: The probabilities go through softmax a second time, which flattens them towards uniform.
Cause: (two|twice|double|second|again|already|repeated|consecutive|another).*softmax
    |softmax.*(twice|two|double|second|again|already|of (a )?softmax|repeated)
    |softmax.*(uniform|flat)|(uniform|flat).*softmax
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
        return F.softmax(self.fc2(x), dim=-1)


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
