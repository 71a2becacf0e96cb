r"""Braking distance from road and speed, by a network whose slope is kept below a bound.

Source: https://docs.pytorch.org/docs/stable/nn.html
Healthy: the weights are divided by their largest singular value, whose estimate moves with each
    pass in training; a learnt gain at the end gives back the range that the targets need.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import spectral_norm

INPUTS = 5


class BrakingModel(nn.Module):
    def __init__(self, hidden=64, bound=6.0):
        super().__init__()
        self.net = nn.Sequential(
            spectral_norm(nn.Linear(INPUTS, hidden)), nn.LeakyReLU(0.2),
            spectral_norm(nn.Linear(hidden, hidden)), nn.LeakyReLU(0.2),
            spectral_norm(nn.Linear(hidden, 1)),
        )
        self.bound = bound
        self.gain = nn.Parameter(torch.zeros(1))

    def forward(self, situation, distance):
        slope = self.bound * torch.sigmoid(self.gain)
        predicted = slope * self.net(situation).squeeze(-1)
        return F.mse_loss(predicted, distance)


def make_situations(n, seed):
    g = torch.Generator().manual_seed(seed)
    situation = torch.rand(n, INPUTS, generator=g) * 2 - 1
    speed, grip = situation[:, 0] + 1, situation[:, 1]
    distance = 0.4 * speed ** 2 - 0.5 * grip + 0.3 * situation[:, 2].abs()
    return situation, distance + 0.05 * torch.randn(n, generator=g)


def build():
    torch.manual_seed(0)
    return BrakingModel()


def example_inputs():
    return make_situations(160, seed=19)
