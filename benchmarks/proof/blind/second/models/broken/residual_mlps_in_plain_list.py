r"""An implicit image function that sums ten small residual MLPs over the coordinates.

Source: https://github.com/LianpoWang/SLIIF/issues/13
Fault: the residual MLPs are kept in a Python list, so they are not in parameters() or state_dict()
    and are never trained.
Cause: ModuleList|(not|un).?registered|(plain|python) list|list of modules|not in .?parameters
Place: \bmlps\b
"""

import torch
from torch import nn


class ResMLP(nn.Module):
    def __init__(self, dim, hidden_list):
        super().__init__()
        layers = []
        last = dim
        for hidden in hidden_list:
            layers += [nn.Linear(last, hidden), nn.ReLU()]
            last = hidden
        layers.append(nn.Linear(last, dim))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


class LocalImplicit(nn.Module):
    def __init__(self, in_dim=16, out_dim=3, hidden_list=(32, 32)):
        super().__init__()
        self.coord_mlp = nn.Linear(2, in_dim)
        self.mlps = [ResMLP(in_dim, hidden_list) for _ in range(10)]  # here
        self.head = nn.Linear(in_dim, out_dim)

    def forward(self, feat, coord):
        x = feat + self.coord_mlp(coord)
        for mlp in self.mlps:
            x = mlp(x)
        return self.head(x)


def build():
    return LocalImplicit()


def example_inputs():
    return torch.randn(4, 64, 16), torch.rand(4, 64, 2) * 2 - 1
