"""The network of AlphaZero for a small board.

Source: https://github.com/suragnair/alpha-zero-general/pull/73
    https://github.com/milesial/Pytorch-UNet/pull/325
Odd: no convolution has a bias, the batch norms bring it.
"""

import torch
import torch.nn.functional as F
from torch import nn


class BoardNet(nn.Module):
    def __init__(self, channels=16, actions=37):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.fc1 = nn.Linear(channels * 16, 32, bias=False)
        self.fc_bn1 = nn.BatchNorm1d(32)
        self.pi, self.v = nn.Linear(32, actions), nn.Linear(32, 1)

    def forward(self, s, move, winner):
        s = F.relu(self.bn1(self.conv1(s)))
        s = F.relu(self.bn2(self.conv2(s)))
        s = F.relu(self.fc_bn1(self.fc1(s.flatten(1))))
        pi, v = F.log_softmax(self.pi(s), dim=1), torch.tanh(self.v(s)).squeeze(1)
        return {"loss": F.nll_loss(pi, move) + F.mse_loss(v, winner), "pi": pi, "v": v}


def example_inputs():
    return (
        torch.randn(8, 1, 6, 6),
        torch.randint(0, 37, (8,)),
        torch.rand(8) * 1.8 - 0.9,
    )
