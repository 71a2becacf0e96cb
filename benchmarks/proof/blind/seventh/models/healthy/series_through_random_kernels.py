r"""Classifier of time series: many random kernels that are never trained, then one linear layer.

Source: https://github.com/angus924/rocket
Odd: The kernels, biases and dilations are drawn once and kept as buffers; the share of positive
    values has no gradient; only the linear layer learns, and that is the method.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RandomKernels(nn.Module):
    def __init__(self, length, kernels=60):
        super().__init__()
        self.dilations = []
        for group in range(6):
            size = (7, 9, 11)[group % 3]
            limit = torch.log2(torch.tensor((length - 1) / (size - 1)))
            dilation = int(2 ** (torch.rand(()) * limit))
            weight = torch.randn(kernels // 6, 1, size)
            self.register_buffer(f"weight{group}", weight - weight.mean(-1, keepdim=True))
            self.register_buffer(f"bias{group}", 2 * torch.rand(kernels // 6) - 1)
            self.dilations.append(dilation)

    @torch.no_grad()
    def forward(self, x):
        x = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-8)
        features = []
        for i, d in enumerate(self.dilations):
            w, b = getattr(self, f"weight{i}"), getattr(self, f"bias{i}")
            y = F.conv1d(x[:, None], w, b, dilation=d, padding=(w.shape[-1] - 1) * d // 2)
            features += [(y > 0).float().mean(-1), y.amax(-1)]
        return torch.cat(features, dim=1)


class RandomKernelClassifier(nn.Module):
    def __init__(self, length=96, classes=4):
        super().__init__()
        self.kernels = RandomKernels(length)
        self.norm = nn.BatchNorm1d(120, affine=False)
        self.linear = nn.Linear(120, classes)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x):
        return self.linear(self.norm(self.kernels(x)))


def build():
    return RandomKernelClassifier()


def example_inputs():
    time = torch.linspace(0, 12, 96)
    return (torch.sin(torch.rand(8, 1) * 3 * time) + 0.2 * torch.randn(8, 96),)
