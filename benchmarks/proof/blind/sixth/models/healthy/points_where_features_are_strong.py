r"""Policy of a robot arm that reads points from a camera picture.

Source: https://github.com/ARISE-Initiative/robomimic
Odd: A softmax over the places of each channel stands inside of the network; only the mean place
    of a channel goes on, so the strength of a feature is lost.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SpatialSoftmax(nn.Module):
    def __init__(self, channels, height, width, num_kp=8, temperature=1.0):
        super().__init__()
        self.nets = nn.Conv2d(channels, num_kp, kernel_size=1)
        self.register_buffer("temperature", torch.ones(1) * temperature)
        y, x = torch.meshgrid(
            torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij"
        )
        self.register_buffer("pos_x", x.reshape(1, -1))
        self.register_buffer("pos_y", y.reshape(1, -1))

    def forward(self, feature):
        feature = self.nets(feature).flatten(2)
        attention = F.softmax(feature / self.temperature, dim=-1)
        x = (self.pos_x * attention).sum(-1)
        y = (self.pos_y * attention).sum(-1)
        return torch.stack([x, y], dim=-1).flatten(1)


class ArmPolicy(nn.Module):
    def __init__(self, joints=7, actions=4):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()
        )
        self.pool = SpatialSoftmax(16, 12, 12)
        self.mlp = nn.Sequential(nn.Linear(16 + joints, 32), nn.ReLU(), nn.Linear(32, actions))

    def forward(self, camera, joints):
        return torch.tanh(self.mlp(torch.cat([self.pool(self.conv(camera)), joints], dim=1)))


def build():
    return ArmPolicy()


def example_inputs():
    return {"camera": torch.rand(6, 3, 32, 32), "joints": torch.randn(6, 7)}
