r"""A ten-layer network of sigmoids for tabular data, as in old textbooks.

Source: https://github.com/ryanaleksander/kernel-convolution/issues/2
    https://github.com/Codecademy/docs/pull/6214
Fault: each sigmoid multiplies the gradient by at most a quarter, and after ten of them the first
    layers get almost nothing.
Cause:
    vanish|sigmoid|saturat|(small|tiny|shrink\w*)\b.*\bgradient|gradients?\b.*\b(small|tiny|shrinks?|fade)
Place: \bact\b|sigmoid
"""

import torch
from torch import nn


class DeepMLP(nn.Module):
    def __init__(self, features=16, width=32, depth=10, classes=3):
        super().__init__()
        sizes = [features] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(sizes[n], sizes[n + 1]) for n in range(depth))
        self.out = nn.Linear(width, classes)
        self.act = nn.Sigmoid()  # here

    def forward(self, x, target):
        for layer in self.layers:
            x = self.act(layer(x))
        logits = self.out(x)
        return {"loss": nn.functional.cross_entropy(logits, target), "logits": logits}


def example_inputs():
    return torch.randn(64, 16), torch.randint(0, 3, (64,))
