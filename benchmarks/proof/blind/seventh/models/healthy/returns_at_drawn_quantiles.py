r"""Returns of the actions in a video game at levels of probability that are drawn anew.

Source: https://github.com/BY571/IQN-and-Extensions
Odd: The levels are random in eval mode too; they pass through cosines and multiply the features;
    the value of an action is the mean over the levels.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class DrawnQuantiles(nn.Module):
    def __init__(self, frames=4, actions=5, cosines=32, hidden=64, levels=8):
        super().__init__()
        self.levels, self.cosines = levels, cosines
        self.register_buffer("pis", math.pi * torch.arange(1.0, cosines + 1))
        self.head = nn.Sequential(
            nn.Conv2d(frames, 16, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(16, 24, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(24, 24, 3),
            nn.ReLU(),
            nn.Flatten(),
        )
        width = 24 * 3 * 3
        self.cos_embedding = nn.Linear(cosines, width)
        self.ff_1 = nn.Linear(width, hidden)
        self.advantage, self.value = nn.Linear(hidden, actions), nn.Linear(hidden, 1)

    def forward(self, frames):
        b = len(frames)
        x = self.head(frames.float() / 255)
        taus = torch.rand(b, self.levels, 1)
        cos = torch.cos(taus * self.pis)
        phi = F.relu(self.cos_embedding(cos))
        h = F.relu(self.ff_1(x[:, None] * phi))
        a = self.advantage(h)
        quantiles = self.value(h) + a - a.mean(-1, keepdim=True)
        return quantiles, taus, quantiles.mean(1)


def build():
    return DrawnQuantiles()


def example_inputs():
    return (torch.randint(0, 256, (6, 4, 52, 52), dtype=torch.uint8),)
