r"""The model `DeepNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Sigmoid.html
Fault: A deep stack of sigmoid layers makes the gradient of the first layers vanish.
Cause: vanish|(tiny|small|negligible|weak|no|shrink\w*).*gradient
    |gradient.*(tiny|small|vanish|shrink|decay|orders of magnitude)|sigmoid|saturat
"""

import torch
import torch.nn as nn


def layer(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, n_out), nn.Sigmoid())


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
