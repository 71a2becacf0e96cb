r"""The model `ThumbnailScorer`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.interpolate.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ThumbnailScorer(nn.Module):
    def __init__(self, width=16, size=16):
        super().__init__()
        self.size = size
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.fc = nn.Linear(width, 1)

    def forward(self, x):
        x = F.interpolate(
            x, size=(self.size, self.size), mode="bilinear", align_corners=False, antialias=True
        )
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.mean(dim=(2, 3))).squeeze(1)


torch.manual_seed(0)
model = ThumbnailScorer()
example_inputs = (torch.randn(4, 3, 64, 64),)
