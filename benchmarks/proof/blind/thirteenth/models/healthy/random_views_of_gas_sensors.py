r"""Gas mixture from sensors: fixed random orthogonal views, and a trained network behind them.

Source: https://docs.pytorch.org/docs/stable/nn.init.html#torch.nn.init.orthogonal_
Healthy: the first layer is orthogonal and never trained (it asks for no gradient); it only turns
    the inputs before the cosine, and the layers behind it do all the learning.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

SENSORS, GASES, VIEWS = 12, 3, 96


class GasMixture(nn.Module):
    def __init__(self, views=VIEWS, hidden=32):
        super().__init__()
        self.turn = nn.Linear(SENSORS, views)
        for start in range(0, views, SENSORS):
            nn.init.orthogonal_(self.turn.weight.data[start:start + SENSORS], gain=0.8)
        nn.init.uniform_(self.turn.bias, 0, 2 * math.pi)
        self.turn.requires_grad_(False)
        self.net = nn.Sequential(
            nn.Linear(views, hidden), nn.SiLU(),
            nn.Linear(hidden, GASES),
        )

    def forward(self, readings, share):
        views = math.sqrt(2) * torch.cos(self.turn(readings))
        return F.mse_loss(self.net(views), share)


def make_air(n, seed):
    g = torch.Generator().manual_seed(seed)
    share = torch.rand(n, GASES, generator=g)
    answer = torch.randn(GASES, SENSORS, generator=torch.Generator().manual_seed(23))
    readings = torch.log1p(share @ answer.abs()) + 0.3 * torch.tanh(share @ answer)
    return readings + 0.01 * torch.randn(n, SENSORS, generator=g), share


def build():
    torch.manual_seed(0)
    return GasMixture()


def example_inputs():
    return make_air(160, seed=24)
