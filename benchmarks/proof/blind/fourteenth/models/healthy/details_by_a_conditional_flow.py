r"""A conditional flow, that gives the density of the fine part of a signal from its coarse part.

Source: https://github.com/andreas128/SRFlow/issues/12
Healthy: the loss is a negative log-likelihood of continuous values and goes below zero in training,
    which the asker took for a problem; a density may be above one. The couplings start as the
    identity, as the last layers of their nets are zero.
"""

import math

import torch
from torch import nn
import torch.nn.functional as F


class ActNorm(nn.Module):
    """Activation Normalization, starts from the statistics of the first batch."""

    def __init__(self, num_features):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1, num_features))
        self.logs = nn.Parameter(torch.zeros(1, num_features))
        self.register_buffer("inited", torch.tensor(False))

    def initialize_parameters(self, input):
        with torch.no_grad():
            bias = -input.mean(dim=0, keepdim=True)
            vars = ((input + bias) ** 2).mean(dim=0, keepdim=True)
            logs = torch.log(1.0 / (torch.sqrt(vars) + 1e-6))
            self.bias.data.copy_(bias)
            self.logs.data.copy_(logs)
            self.inited.fill_(True)

    def forward(self, input, logdet):
        if not self.inited and self.training:
            self.initialize_parameters(input)
        z = (input + self.bias) * torch.exp(self.logs)
        return z, logdet + self.logs.sum()


class InvertibleLinear(nn.Module):
    """Invertible 1x1 convolution of a vector."""

    def __init__(self, num_features):
        super().__init__()
        w_init = torch.linalg.qr(torch.randn(num_features, num_features))[0]
        self.weight = nn.Parameter(w_init)

    def forward(self, input, logdet):
        return input @ self.weight.t(), logdet + torch.slogdet(self.weight)[1]


class CondAffineCoupling(nn.Module):
    def __init__(self, num_features, cond, hidden=48, eps=0.0001):
        super().__init__()
        self.half = num_features // 2
        self.rest = num_features - self.half
        self.affine_eps = eps
        self.fAffine = nn.Sequential(
            nn.Linear(self.half + cond, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 2 * self.rest))
        nn.init.zeros_(self.fAffine[-1].weight)
        nn.init.zeros_(self.fAffine[-1].bias)

    def forward(self, input, logdet, cond):
        z1, z2 = input[:, :self.half], input[:, self.half:]
        h = self.fAffine(torch.cat([z1, cond], dim=1))
        shift, scale = h.chunk(2, dim=1)
        scale = torch.sigmoid(scale + 2.) + self.affine_eps
        z2 = (z2 + shift) * scale
        logdet = logdet + torch.log(scale).sum(dim=1)
        return torch.cat([z1, z2], dim=1), logdet


class FlowStep(nn.Module):
    def __init__(self, num_features, cond):
        super().__init__()
        self.actnorm = ActNorm(num_features)
        self.invconv = InvertibleLinear(num_features)
        self.affine = CondAffineCoupling(num_features, cond)

    def forward(self, z, logdet, cond):
        z, logdet = self.actnorm(z, logdet)
        z, logdet = self.invconv(z, logdet)
        return self.affine(z, logdet, cond)


class GaussianDiag:
    Log2PI = float(math.log(2 * math.pi))

    @staticmethod
    def logp(x):
        return (-0.5 * (x ** 2 + GaussianDiag.Log2PI)).sum(dim=1)


class SRFlowNet(nn.Module):
    def __init__(self, num_features=16, coarse=8, cond=24, K=4):
        super().__init__()
        self.num_features = num_features
        self.RRDB = nn.Sequential(nn.Linear(coarse, 48), nn.LeakyReLU(0.2), nn.Linear(48, cond))
        self.flowUpsamplerNet = nn.ModuleList([FlowStep(num_features, cond) for _ in range(K)])

    def forward(self, gt, lr):
        cond = self.RRDB(lr)
        # the coarse signal, doubled in length, is taken off before
        z = gt - F.interpolate(lr.unsqueeze(1), scale_factor=2, mode='linear',
                               align_corners=False).squeeze(1)
        logdet = torch.zeros(gt.size(0))
        for layer in self.flowUpsamplerNet:
            z, logdet = layer(z, logdet, cond)
        objective = logdet + GaussianDiag.logp(z)
        nll = (-objective) / float(math.log(2.) * self.num_features)
        return nll.mean()


def build():
    torch.manual_seed(0)
    return SRFlowNet()


def example_inputs():
    torch.manual_seed(1)
    t = torch.linspace(0, 3, 16)
    gt = torch.sin(t * (1 + 2 * torch.rand(64, 1)) + 6 * torch.rand(64, 1))
    gt = gt + 0.02 * torch.randn_like(gt)
    return gt, F.avg_pool1d(gt.unsqueeze(1), 2).squeeze(1)
