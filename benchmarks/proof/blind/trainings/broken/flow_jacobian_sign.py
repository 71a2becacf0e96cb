r"""Fits an affine coupling flow to a banana-shaped density by maximum likelihood.

Source: https://github.com/VincentStimper/normalizing-flows/issues/27
    https://github.com/ikostrikov/pytorch-flows/issues/16
Fault: The log-determinant enters with the wrong sign, so the flow shrinks everything to a point,
    the loss goes to minus infinity and the samples are not the data.
Cause: (log.?det|jacobian|log_s).*(sign|minus|negat)|(sign|minus).*(log.?det|jacobian)
"""

import torch
from torch import nn


class AffineCoupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.param_map = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2))

    def inverse(self, x):
        a, b = (x[:, 1:], x[:, :1]) if self.flip else (x[:, :1], x[:, 1:])
        log_s, shift = self.param_map(a).chunk(2, 1)
        z = (b - shift) * torch.exp(-log_s)
        log_det = log_s.sum(1)  # here
        return torch.cat([z, a] if self.flip else [a, z], 1), log_det


class NormalizingFlow(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.flows = nn.ModuleList(AffineCoupling(i % 2 == 0) for i in range(n))

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for flow in self.flows:
            x, log_det = flow.inverse(x)
            total = total + log_det
        return total + torch.distributions.Normal(0, 1).log_prob(x).sum(1), x


torch.manual_seed(0)
flow = NormalizingFlow()
optimizer = torch.optim.Adam(flow.parameters(), lr=2e-3)
for it in range(200):
    x1 = torch.randn(128, 1)
    x = torch.cat([2 * x1, x1.pow(2) + 0.4 * torch.randn(128, 1)], 1)
    log_p, z = flow.log_prob(x)
    loss = -log_p.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 40 == 39:
        print(f"iter {it} loss {loss.item():.4f} std of z {z.std().item():.4f} (should be 1)")
