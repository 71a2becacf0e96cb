"""A model whose inputs and outputs are dictionaries, nested as deep as BENCH_LEVELS says."""

import os

import torch
from torch import nn

LEVELS = int(os.environ["BENCH_LEVELS"])


def nested(value):
    for _ in range(LEVELS):
        value = {"inner": value}
    return value


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(20))

    def forward(self, x):
        while isinstance(x, dict):
            x = x["inner"]
        return [nested(layer(x)) for layer in self.layers]


def build_model():
    return Deep()


def example_inputs():
    return (nested(torch.randn(2, 4)),)
