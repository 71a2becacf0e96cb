"""A plain network of 50 layers without normalisation: He's initialisation keeps its scale."""

import torch
from torch import nn


class DeepNet(nn.Module):
    def __init__(self, features=32, width=64, depth=50, classes=4):
        super().__init__()
        layers = [nn.Linear(features, width), nn.ReLU()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.ReLU()]
        self.net = nn.Sequential(*layers)
        self.head = nn.Linear(width, classes)
        self.init_weights()

    def init_weights(self):
        for module in self.net:
            if isinstance(module, nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.head(self.net(x))


def example_inputs():
    return (torch.randn(16, 32),)
