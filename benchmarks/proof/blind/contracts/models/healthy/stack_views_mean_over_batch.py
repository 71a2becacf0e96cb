r"""Shape recognition from several renderings.

Source: https://docs.pytorch.org/docs/stable/generated/torch.stack.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiViewNet(nn.Module):
    """Shape recognition from several renderings."""

    def __init__(self, views=4, width=16, classes=6):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.head = nn.Linear(width, classes)
        self.views = views

    def encode(self, img):
        h = F.relu(self.conv1(img))
        return F.relu(self.conv2(h)).mean(dim=(2, 3))

    def forward(self, x):
        # x: [batch, views, 1, height, width]
        f = torch.stack([self.encode(x[:, i]) for i in range(self.views)])
        return self.head(f.mean(dim=0))


torch.manual_seed(0)
model = MultiViewNet()
example_inputs = (torch.randn(6, 4, 1, 16, 16),)
