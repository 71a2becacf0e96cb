r"""Network of narrowing tanh layers, as in studies of the information in each layer.

Source: https://github.com/neuroinfo-os/deep-bottleneck/issues/168
Fault: The biases start at a large constant, so all tanh units are at their upper end.
Cause: saturat|bias\w*.{0,60}(large|big|constant|init|start|high)|(large|big|high).{0,30} bias
    |flat|gradients?.{0,60}(vanish|zero|tiny|small)
Place: bias
"""

import torch
from torch import nn

ARCHITECTURE = [10, 7, 5, 4, 3]
INITIAL_BIAS = 5.0  # here


def dense(n_in, n_out):
    layer = nn.Linear(n_in, n_out)
    nn.init.trunc_normal_(layer.weight, std=n_out**-0.5)
    nn.init.constant_(layer.bias, INITIAL_BIAS)
    return layer


def build():
    torch.manual_seed(12)
    layers = []
    n_in = 12
    for units in ARCHITECTURE:
        layers += [dense(n_in, units), nn.Tanh()]
        n_in = units
    output = nn.Linear(n_in, 2)
    return nn.Sequential(*layers, output)


def example_inputs():
    return torch.randint(0, 2, (256, 12)).float()
