r"""A deep network with home-made weights.

Source: https://d2l.ai/chapter_multilayer-perceptrons/numerical-stability-and-init.html
    https://github.com/udlbook/udlbook/issues/87
Fault: the weights are drawn from N(0, 1) whatever the fan-in, so each layer multiplies the scale by
    ten; the outputs and the gradients are astronomic.
Cause: initiali|\binit\b|standard deviation|\bstd\b|variance|fan.?in|explod|kaiming|xavier|too
    large|huge
Place: randn|\bweights\b
"""

import torch
from torch import nn


class DenseLayer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(i, o))  # here
        self.biases = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        return x @ self.weights + self.biases


class DeepRegressor(nn.Module):
    def __init__(self, features=24, width=200, depth=7):
        super().__init__()
        sizes = [features] + [width] * depth
        self.layers = nn.ModuleList(DenseLayer(sizes[n], sizes[n + 1]) for n in range(depth))
        self.out = DenseLayer(width, 1)

    def forward(self, x, y):
        for layer in self.layers:
            x = torch.relu(layer(x))
        prediction = self.out(x)
        return {"loss": nn.functional.mse_loss(prediction, y), "prediction": prediction}


def build():
    return DeepRegressor()


def example_inputs():
    return torch.randn(32, 24), torch.randn(32, 1)
