r"""Classifier for objects that come in small batches one after the other.

Source: https://github.com/vlomonaco/ar1-pytorch/pull/1
Fault: The running mean and deviation of the normalisation are plain tensors, so they are in no
    saved state and a loaded model starts with zeros and ones.
Cause: (running|statistic\w*|mean|deviation).{0,120}(buffer|state.?dict|saved?\b|checkpoint
    |persist\w*|plain|registered|attribute|loaded|lost)|register_buffer|not registered|(buffer
    |state.?dict|checkpoint).{0,80}(running|statistic\w*|missing|lack\w*)
Place: running\w*|buffer|__init__|BatchRenorm\w*|statistics?
"""

import torch
from torch import nn


class BatchRenorm(nn.Module):
    def __init__(self, channels, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.eps, self.momentum, self.r_max, self.d_max = eps, momentum, r_max, d_max
        self.gamma = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.beta = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.running_mean = torch.zeros(1, channels, 1, 1)  # here
        self.running_std = torch.ones(1, channels, 1, 1)  # here

    def forward(self, x):
        if not self.training:
            return self.gamma * (x - self.running_mean) / self.running_std + self.beta
        mean = x.mean((0, 2, 3), keepdim=True)
        std = (x.var((0, 2, 3), unbiased=False, keepdim=True) + self.eps).sqrt()
        with torch.no_grad():
            r = (std / self.running_std).clamp(1 / self.r_max, self.r_max)
            d = ((mean - self.running_mean) / self.running_std).clamp(-self.d_max, self.d_max)
            self.running_mean += self.momentum * (mean - self.running_mean)
            self.running_std += self.momentum * (std - self.running_std)
        return self.gamma * ((x - mean) / std * r + d) + self.beta


def separable(inputs, outputs, stride):
    return nn.Sequential(
        nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False),
        BatchRenorm(inputs),
        nn.ReLU(),
        nn.Conv2d(inputs, outputs, 1, bias=False),
        BatchRenorm(outputs),
        nn.ReLU(),
    )


class Objects(nn.Module):
    def __init__(self, classes=20):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), BatchRenorm(16), nn.ReLU())
        self.features = nn.Sequential(
            separable(16, 32, 1), separable(32, 64, 2), separable(64, 64, 1)
        )
        self.output = nn.Linear(64, classes, bias=False)

    def forward(self, x):
        x = self.features(self.stem(x))
        return self.output(x.mean((2, 3)))


def build():
    return Objects()


def example_inputs():
    return (torch.rand(8, 3, 32, 32),)
