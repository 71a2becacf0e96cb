r"""The classification head of a model zoo, with a configurable number of layers.

Source: https://github.com/Nota-NetsPresso/netspresso-trainer/issues/320
    https://github.com/stanfordnlp/stanza/pull/1610
Fault: the head stacks nn.Linear layers without any activation in between, so three layers are worth
    one.
Cause: activation|non.?linear|\bReLU\b|(one|single) linear|linear map|affine
Place: classifier|\bFC\b
"""

import torch
from torch import nn


class FC(nn.Module):
    def __init__(self, num_classes, feature_dim, hidden_size=64, num_layers=3):
        super().__init__()
        layers = []
        size = feature_dim
        for _ in range(num_layers - 1):
            layers.append(nn.Linear(size, hidden_size))  # here
            size = hidden_size
        layers.append(nn.Linear(size, num_classes))
        self.classifier = nn.Sequential(*layers)

    def forward(self, x):
        return self.classifier(x)


class ClassificationModel(nn.Module):
    def __init__(self, num_classes=6):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1),
            nn.BatchNorm2d(16),
            nn.SiLU(),
            nn.Conv2d(16, 32, 3, 2, 1),
            nn.BatchNorm2d(32),
            nn.SiLU(),
        )
        self.head = FC(num_classes, 32)

    def forward(self, images):
        return self.head(self.backbone(images).mean((2, 3)))


def build():
    return ClassificationModel()


def example_inputs():
    return (torch.randn(4, 3, 32, 32),)
