r"""The model `Camera`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.squeeze.html
Fault: squeeze() without dim also removes the batch dimension when the batch has one sample.
Cause: squeeze|batch (size )?(of )?(one|1)|single sample
    |(shape|dim\w*|rank).*(depend|chang|batch|lost|remov|drop)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GlobalPoolNet(nn.Module):
    def __init__(self, cin=1, width=16, classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, width, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.cls = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.cls(self.pool(x))
        return x.squeeze()


class Camera(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = GlobalPoolNet()

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
model = Camera()
example_inputs = (torch.randn(1, 1, 20, 20),)
