r"""Price of a house from its rooms, age and the prices nearby.

Source: https://github.com/d2l-ai/d2l-en/pull/1079
Fault: The function that is applied to every layer initialises the first layer each time instead
    of the layer it is given, so all others keep their default weights.
Cause: (init\w*|function|apply).{0,140}(first|net\[0\]|same (layer|one)|only one|argument|wrong layer|layers\[0\]|layers\.0|layer it is given)
    |(first|net\[0\]|layers\[0\]).{0,120}(each time|again|instead|over and over|repeated\w*|only|alone)
    |(other|remaining|later|further) layers.{0,60}(never|not|default|keep|without)
Place: init_weights|layers\b|\bm\b|xavier|apply
"""

import torch
from torch import nn


class HousePrice(nn.Module):
    def __init__(self, features=12, width=64, depth=6):
        super().__init__()
        sizes = [features] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.output = nn.Linear(width, 1)
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("std", torch.ones(features))
        self.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(
                self.layers[0].weight, gain=nn.init.calculate_gain("tanh")
            )  # here
            nn.init.zeros_(self.layers[0].bias)  # here

    def fit_scaler(self, x):
        self.mean.copy_(x.mean(0))
        self.std.copy_(x.std(0).clamp(min=1e-6))

    def forward(self, x):
        x = (x - self.mean) / self.std
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.output(x).squeeze(1)


def build():
    model = HousePrice()
    model.fit_scaler(torch.randn(200, 12) * 3 + 1)
    return model


def example_inputs():
    return (torch.randn(32, 12) * 3 + 1,)
