r"""AlexNet with fewer channels for pictures of 32 by 32.

Source: https://github.com/hjptriplebee/AlexNet_with_tensorflow/issues/2
Fault: The last fully connected layer has a ReLU as the others, so no logit can be negative.
Cause: relu .*(last|final|logits?|outputs?|fc8)|(last|final|logits?|outputs?|fc8) .*relu
    |(no|never|not|cut\w*) .*negative|non-?negative|(last|final) activation
    |activation .*(logits?|output|last|final)
Place: \bfc8\b
"""

import torch
from torch import nn


def conv(n_in, n_out, kernel, stride=1):
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, kernel, stride, padding=kernel // 2), nn.ReLU(inplace=True)
    )


def fc(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, n_out), nn.ReLU(inplace=True))


class AlexNet(nn.Module):
    def __init__(self, classes=10, keep=0.5):
        super().__init__()
        self.features = nn.Sequential(
            conv(3, 16, 5),
            nn.LocalResponseNorm(5),
            nn.MaxPool2d(3, 2),
            conv(16, 32, 5),
            nn.LocalResponseNorm(5),
            nn.MaxPool2d(3, 2),
            conv(32, 48, 3),
            conv(48, 48, 3),
            conv(48, 32, 3),
            nn.MaxPool2d(3, 2),
        )
        self.fc6 = fc(32 * 3 * 3, 128)
        self.fc7 = fc(128, 128)
        self.fc8 = fc(128, classes)  # here
        self.dropout = nn.Dropout(1 - keep)

    def forward(self, x):
        x = self.features(x).flatten(1)
        x = self.dropout(self.fc6(x))
        x = self.dropout(self.fc7(x))
        return self.fc8(x)


def build():
    return AlexNet()


def example_inputs():
    return torch.randn(16, 3, 32, 32)
