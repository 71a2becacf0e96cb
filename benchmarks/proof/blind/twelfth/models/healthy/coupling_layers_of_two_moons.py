r"""RealNVP coupling layers with alternating masks; forward returns the negative log-likelihood.

Source: https://github.com/chrischute/real-nvp/issues/15
Healthy: The reverse pass multiplies with exp(-s) and then subtracts t, not (x - t) * exp(-s) as in
    the paper; it inverts a forward pass that adds t first and then multiplies with exp(s).
"""

import math

import torch
import torch.nn as nn


class ResNetLike(nn.Module):
    def __init__(self, dim, mid):
        super(ResNetLike, self).__init__()
        self.in_layer = nn.Linear(dim, mid)
        self.mid_layer = nn.Linear(mid, mid)
        self.out_layer = nn.Linear(mid, 2 * dim)

    def forward(self, x):
        x = torch.relu(self.in_layer(x))
        x = x + torch.relu(self.mid_layer(x))
        return self.out_layer(x)


class Rescale(nn.Module):
    """Per-channel rescaling of s"""

    def __init__(self, num_channels):
        super(Rescale, self).__init__()
        self.weight = nn.Parameter(torch.ones(num_channels))

    def forward(self, x):
        return self.weight * x


class CouplingLayer(nn.Module):
    def __init__(self, dim, mid, reverse_mask):
        super(CouplingLayer, self).__init__()
        b = torch.arange(dim) % 2
        if reverse_mask:
            b = 1 - b
        self.register_buffer('b', b.float())
        self.st_net = ResNetLike(dim, mid)
        self.rescale = Rescale(dim)

    def forward(self, x, sldj=None, reverse=True):
        x_b = x * self.b
        s, t = self.st_net(x_b).chunk(2, dim=1)
        s = self.rescale(torch.tanh(s))
        s = s * (1 - self.b)
        t = t * (1 - self.b)

        if reverse:
            inv_exp_s = s.mul(-1).exp()
            x = x * inv_exp_s - t
        else:
            exp_s = s.exp()
            x = (x + t) * exp_s
            sldj = sldj + s.sum(-1)
        return x, sldj


class RealNVPLoss(nn.Module):
    def forward(self, z, sldj):
        prior_ll = -0.5 * (z ** 2 + math.log(2 * math.pi))
        prior_ll = prior_ll.flatten(1).sum(-1)
        ll = prior_ll + sldj
        return -ll.mean()


class RealNVP(nn.Module):
    def __init__(self, dim=2, mid=32, num_layers=6):
        super(RealNVP, self).__init__()
        self.flows = nn.ModuleList(
            [CouplingLayer(dim, mid, reverse_mask=i % 2 == 1) for i in range(num_layers)])
        self.loss_fn = RealNVPLoss()

    def transform(self, x, reverse=False):
        sldj = None if reverse else torch.zeros(x.size(0))
        flows = reversed(self.flows) if reverse else self.flows
        for flow in flows:
            x, sldj = flow(x, sldj, reverse)
        return x, sldj

    def forward(self, x):
        z, sldj = self.transform(x, reverse=False)
        return self.loss_fn(z, sldj)


def build():
    torch.manual_seed(0)
    return RealNVP()


def example_inputs():
    torch.manual_seed(1)
    a = torch.rand(128) * math.pi
    side = (torch.rand(128) < 0.5).float()
    x = torch.cos(a) * (1 - 2 * side) + side
    y = torch.sin(a) * (1 - 2 * side) + 0.5 * side
    return (torch.stack([x, y], 1) + 0.05 * torch.randn(128, 2),)
