r"""The model `DeepNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Sigmoid.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


def layer(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, n_out), nn.GELU())


class DeepNet(nn.Module):
    def __init__(self, n_in=16, width=32, depth=9, n_out=4):
        super().__init__()
        widths = [n_in] + [width] * depth
        self.layers = nn.ModuleList(layer(a, b) for a, b in zip(widths[:-1], widths[1:]))
        self.out = nn.Linear(width, n_out)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.kaiming_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        for f in self.layers:
            x = f(x)
        return self.out(x)


torch.manual_seed(0)
model = DeepNet()
example_inputs = (torch.randn(16, 16),)
