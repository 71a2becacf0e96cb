"""A steganalysis network that begins with fixed high-pass filters.

Source: https://github.com/brijeshiitg/XuNet-Structural-Design-of-Convolutional-Neural-Networksfor-Steganalysis
Odd: the first convolution has requires_grad=False and its weights sum to zero; it is a bank of
    known residual filters, clipped by a hardtanh.
"""

import torch
from torch import nn

KERNELS = torch.tensor(
    [
        [[0, 0, 0], [0, -1, 1], [0, 0, 0]],
        [[0, 0, 0], [1, -2, 1], [0, 0, 0]],
        [[-1, 2, -1], [2, -4, 2], [-1, 2, -1]],
        [[0, 0, 0], [0, -1, 0], [0, 1, 0]],
    ]
).float()


class YeNet(nn.Module):
    def __init__(self, threshold=3.0):
        super().__init__()
        self.preprocessing = nn.Conv2d(1, len(KERNELS), 3, padding=1, bias=False)
        self.preprocessing.weight = nn.Parameter(KERNELS[:, None], requires_grad=False)
        self.tlu = nn.Hardtanh(-threshold, threshold)
        self.block = nn.Sequential(
            nn.Conv2d(4, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.fc = nn.Linear(32, 2)

    def forward(self, image):
        residual = self.tlu(self.preprocessing(image))
        return self.fc(self.block(residual).flatten(1))


def example_inputs():
    return (torch.randint(0, 256, (4, 1, 32, 32)).float(),)
