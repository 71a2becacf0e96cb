r"""The model `DigitNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.view.html
Fault: view(-1, 64) on [B, 64, 4, 4] folds the spatial positions into the batch and scrambles
    channels: 16 rows per sample come out.
Cause: batch (size|dim|axis).*(change|grow|wrong|differ|mismatch|multipl|not preserved)|view\(-1
    |(view|reshape|flatten).*(batch|scrambl|mix)|(rows|outputs?) per sample|more rows|leading dim
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DigitNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(4)
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.pool(x).view(-1, 64)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


torch.manual_seed(0)
model = DigitNet()
example_inputs = (torch.randn(4, 1, 28, 28),)
