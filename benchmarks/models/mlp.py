"""A multilayer perceptron for MNIST, as tutorials write it: 669,706 parameters."""

import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(28 * 28, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 10),
        )

    def forward(self, images):
        return self.layers(images)


def build_model():
    return MLP()


def example_inputs():
    return (torch.randn(32, 1, 28, 28),)
