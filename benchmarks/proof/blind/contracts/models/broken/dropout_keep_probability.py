r"""The model `MnistNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html
Fault: Dropout(0.9) drops 90 % of the units; the value was meant as the probability of keeping.
Cause: (high|large|excessive|aggressive|extreme|strong)\w* (dropout|drop)
    |dropout.*(0\.9|90|high|large|excessive|most|keep|too)|keep.?prob|drops? (90|most|almost)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MnistNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.fc1 = nn.Linear(32 * 7 * 7, 64)
        self.drop = nn.Dropout(0.9)
        self.fc2 = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(self.drop(x))


torch.manual_seed(0)
model = MnistNet()
example_inputs = (torch.randn(16, 1, 28, 28),)
