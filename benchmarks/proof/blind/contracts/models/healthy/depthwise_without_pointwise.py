r"""The model `SpectralTexture`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectralTexture(nn.Module):
    def __init__(self, bands=8, classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(bands, bands, 3, padding=1, groups=bands)
        self.conv2 = nn.Conv2d(bands, bands, 3, padding=1)
        self.conv3 = nn.Conv2d(bands, bands, 3, padding=1, groups=bands)
        self.head = nn.Linear(bands, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        return self.head(x.amax(dim=(2, 3)))


torch.manual_seed(0)
model = SpectralTexture()
example_inputs = (torch.randn(4, 8, 16, 16),)
