r"""Student of a frozen teacher for anomalies, with a memory of normal features.

Source: https://github.com/SimonThomine/RememberingNormality/issues/7
Fault: Keys and values of the memory are plain tensors, so they are never learned nor saved.
Cause: register\w*|nn\.?Parameter|plain (tensor|attribute)|not (a |an )?parameter
    |not (in|among|part of) .*(parameters|state_dict)|never (learn|train|updat)\w*
    |(not|never) (moved|saved)|buffer
Place: \bkeys\b|\bvalues\b(?= of| is| are|\.)|memory[12]\.(keys|values)
"""

import torch
from torch import nn


class NormalityMemory(nn.Module):
    def __init__(self, slots, channel):
        super().__init__()
        self.keys = torch.randn(slots, channel)  # here
        self.values = torch.randn(slots, channel)  # here
        self.fuse = nn.Conv2d(2 * channel, channel, 1)

    def forward(self, query):
        b, c, h, w = query.shape
        flat = query.flatten(2).transpose(1, 2)
        attention = torch.softmax(flat @ self.keys.t() / c**0.5, dim=-1)
        read = (attention @ self.values).transpose(1, 2).reshape(b, c, h, w)
        return self.fuse(torch.cat([query, read], dim=1))


class RememberingStudent(nn.Module):
    def __init__(self, channels=(16, 32), slots=20):
        super().__init__()
        first, second = channels
        self.layer1 = nn.Sequential(nn.Conv2d(3, first, 3, 2, 1), nn.BatchNorm2d(first), nn.ReLU())
        self.layer2 = nn.Sequential(
            nn.Conv2d(first, second, 3, 2, 1), nn.BatchNorm2d(second), nn.ReLU()
        )
        self.memory1 = NormalityMemory(slots, first)
        self.memory2 = NormalityMemory(slots, second)

    def forward(self, x):
        x1 = self.memory1(self.layer1(x))
        return x1, self.memory2(self.layer2(x1))


def build():
    return RememberingStudent()


def example_inputs():
    return torch.randn(4, 3, 32, 32)
