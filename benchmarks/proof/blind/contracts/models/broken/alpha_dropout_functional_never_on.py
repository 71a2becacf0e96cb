r"""The model `SelfNormNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.alpha_dropout.html
Fault: F.alpha_dropout has training=False by default, so without training=self.training it never
    drops anything.
Cause: alpha_?dropout
    |dropout.*(never|no effect|inactive|off|disabled|not (active|applied)|training|default)
    |training ?= ?(false|self)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfNormNet(nn.Module):
    def __init__(self, n_in=18, hidden=48, n_out=2, p=0.1):
        super().__init__()
        self.p = p
        self.layers = nn.ModuleList([nn.Linear(n_in, hidden), nn.Linear(hidden, hidden)])
        self.out = nn.Linear(hidden, n_out)
        for layer in self.layers:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        for layer in self.layers:
            x = F.selu(layer(x))
            x = F.alpha_dropout(x, p=self.p)
        return self.out(x)


torch.manual_seed(0)
model = SelfNormNet()
example_inputs = (torch.randn(16, 18),)
