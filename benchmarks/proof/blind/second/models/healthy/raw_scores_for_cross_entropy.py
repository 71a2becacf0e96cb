"""A classifier of digits that stops at the linear layer, with its loss.

Source: https://github.com/fastai/fastai_old/issues/9
    https://github.com/lopuhin/kaggle-imet-2019/issues/3
Odd: there is no softmax at the end and the outputs are negative as often as positive; cross_entropy
    applies log_softmax itself.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Lambda(nn.Module):
    def __init__(self, func):
        super().__init__()
        self.func = func

    def forward(self, x):
        return self.func(x)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride=2, padding=1), nn.ReLU())


class MnistCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            Lambda(lambda x: x.view(-1, 1, 28, 28)),
            conv(1, 16),
            conv(16, 16),
            nn.Conv2d(16, 10, 3, stride=2, padding=1),
            nn.AdaptiveAvgPool2d(1),
            Lambda(lambda x: x.view(x.size(0), -1)),
        )

    def forward(self, xb, yb):
        out = self.model(xb)
        return {"loss": F.cross_entropy(out, yb), "logits": out}


def build():
    return MnistCNN()


def example_inputs():
    return torch.rand(16, 784), torch.randint(0, 10, (16,))
