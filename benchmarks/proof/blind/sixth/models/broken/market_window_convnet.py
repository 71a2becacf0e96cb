r"""Convolutions over a window of two-channel readings which answer a question with yes or no.

Source: https://stats.stackexchange.com/questions/481881/convolutional-neural-network-fails-even-when-given-answer?noredirect=1
Fault: The softmax runs over the one output of the last layer, so the answer is always one.
Cause: softmax.{0,80}(one|single|1\b|size|constant|always)
    |(one|single) (output|unit|class|element|value)
    |(output|answer|probabilit)\w*.{0,40}(always|constant|same|all ones|identical)
Place: softmax
"""

import torch
from torch import nn


class YesOrNo(nn.Module):
    def __init__(self, height=25, width=22):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(2, 30, kernel_size=3),
            nn.ReLU(),
            nn.Conv2d(30, 64, kernel_size=3),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.out = nn.Linear(64 * (height - 4) * (width - 4), 1)
        self.softmax = nn.Softmax(dim=1)  # here

    def forward(self, x):
        return self.softmax(self.out(self.features(x)))


def build():
    return YesOrNo()


def example_inputs():
    return torch.randn(12, 2, 25, 22)
