r"""Variational autoencoder of digits whose posterior is bent by planar flows.

Source: https://github.com/wohlert/semi-supervised-pytorch/issues/21
Fault: The log-determinants, already one number per picture, are summed once more over the batch,
    so each picture's posterior density carries the determinants of all the others.
Cause: (sum\w*|add\w*|total|accumulat\w*).{0,120}(batch|all (the )?(pictures|samples|examples|others)|scalar|twice|again|once more)
    |(log.?det\w*|determinant\w*|jacobian).{0,120}(batch|scalar|summed|per.?(sample|example|picture)|each (sample|example|picture)|other)
    |(samples?|examples?|pictures?).{0,60}(mix|depend|carry|leak|share).{0,60}(batch|other|each)
Place: log_det_z|log_det|\bsum\b|\bqz\b|\bkl|\bflow\b|FlowVAE
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class PlanarFlow(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.u = nn.Parameter(0.1 * torch.randn(1, width))
        self.w = nn.Parameter(0.1 * torch.randn(1, width))
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, z):
        uw = (self.u * self.w).sum()
        u_hat = self.u + (F.softplus(uw) - 1 - uw) * self.w / self.w.square().sum()
        inner = torch.tanh(F.linear(z, self.w, self.b))
        psi = (1 - inner.square()) * self.w
        log_det = torch.log(1e-4 + (1 + F.linear(psi, u_hat)).abs())
        return z + u_hat * inner, log_det.squeeze(1)


class FlowPosterior(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.flows = nn.ModuleList(PlanarFlow(width) for _ in range(length))

    def forward(self, z):
        dets = []
        for flow in self.flows:
            z, det = flow(z)
            dets.append(det)
        return z, torch.stack(dets).sum(0)


def log_gaussian(x, mu, log_var):
    pdf = -0.5 * math.log(2 * math.pi) - log_var / 2 - (x - mu).square() / (2 * log_var.exp())
    return pdf.sum(-1)


class FlowVAE(nn.Module):
    def __init__(self, pixels=196, hidden=64, z_dim=8, length=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU())
        self.mu, self.log_var = nn.Linear(hidden, z_dim), nn.Linear(hidden, z_dim)
        self.flow = FlowPosterior(z_dim, length)
        self.decoder = nn.Sequential(nn.Linear(z_dim, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def forward(self, x):
        h = self.encoder(x)
        mu, log_var = self.mu(h), self.log_var(h)
        z = mu + torch.exp(0.5 * log_var) * torch.randn_like(mu)
        f_z, log_det_z = self.flow(z)
        qz = log_gaussian(z, mu, log_var) - sum(log_det_z)  # here
        pz = log_gaussian(f_z, torch.zeros_like(f_z), torch.zeros_like(f_z))
        return self.decoder(f_z), qz - pz


def build():
    return FlowVAE()


def example_inputs():
    return (torch.rand(16, 196),)
