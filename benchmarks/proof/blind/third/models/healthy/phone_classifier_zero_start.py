r"""Frame-level phone classifier of a speech recogniser.

Source: https://github.com/k2-fsa/snowfall/issues/161
Odd: Only the last convolution has zero weights at the start, a trick for early convergence: the
    scores begin uniform and the gradient of that layer is not zero.
"""

import torch
from torch import nn


class PhoneClassifier(nn.Module):
    def __init__(self, features=20, dim=32, num_classes=11):
        super().__init__()
        self.tdnn = nn.Sequential(
            nn.Conv1d(features, dim, 3, padding=1),
            nn.ReLU(),
            nn.BatchNorm1d(dim, affine=False),
            nn.Conv1d(dim, dim, 3, padding=2, dilation=2),
            nn.ReLU(),
            nn.BatchNorm1d(dim, affine=False),
        )
        self.final_conv1d = nn.Conv1d(dim, num_classes, kernel_size=1)
        nn.init.constant_(self.final_conv1d.weight, 0.0)

    def forward(self, frames):
        return self.final_conv1d(self.tdnn(frames.transpose(1, 2))).log_softmax(dim=1)


def build():
    return PhoneClassifier()


def example_inputs():
    return torch.randn(4, 25, 20)
