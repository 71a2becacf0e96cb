r"""The model `SignNet`.

Source: https://docs.pytorch.org/tutorials/intermediate/spatial_transformer_tutorial.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SpatialTransformer(nn.Module):
    def __init__(self, cin=1, hidden=24):
        super().__init__()
        self.loc = nn.Sequential(
            nn.Conv2d(cin, 8, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
            nn.Linear(128, hidden), nn.ReLU(),
        )
        self.theta = nn.Linear(hidden, 6)
        nn.init.normal_(self.theta.weight, std=1e-3)
        self.theta.bias.data.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))

    def forward(self, x):
        theta = self.theta(self.loc(x)).view(-1, 2, 3)
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)


class SignNet(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.stn = SpatialTransformer()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = F.relu(self.conv(self.stn(x)))
        return self.fc(x.mean(dim=(2, 3)))


torch.manual_seed(0)
model = SignNet()
example_inputs = (torch.randn(6, 1, 28, 28),)
