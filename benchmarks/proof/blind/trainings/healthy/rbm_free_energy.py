r"""A restricted Boltzmann machine trained with contrastive divergence.

Source: https://github.com/odie2630463/Restricted-Boltzmann-Machines-in-pytorch
    https://github.com/bacnguyencong/rbm-pytorch
Odd: The loss is a difference of free energies that hovers around zero with any sign; the quality is
    in the reconstruction error, which falls.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RBM(nn.Module):
    def __init__(self, n_vis=16, n_hin=12, k=1):
        super().__init__()
        self.W = nn.Parameter(torch.randn(n_hin, n_vis) * 1e-2)
        self.v_bias, self.h_bias = (
            nn.Parameter(torch.zeros(n_vis)),
            nn.Parameter(torch.zeros(n_hin)),
        )
        self.k = k

    def v_to_h(self, v):
        return torch.sigmoid(F.linear(v, self.W, self.h_bias)).bernoulli()

    def h_to_v(self, h):
        return torch.sigmoid(F.linear(h, self.W.t(), self.v_bias))

    def forward(self, v):
        v_ = v
        for _ in range(self.k):
            v_ = self.h_to_v(self.v_to_h(v_)).bernoulli()
        return v_.detach()

    def free_energy(self, v):
        hidden = F.softplus(F.linear(v, self.W, self.h_bias)).sum(1)
        return (-hidden - v @ self.v_bias).mean()


torch.manual_seed(0)
patterns = (torch.rand(5, 16) > 0.5).float()
rbm = RBM()
train_op = torch.optim.SGD(rbm.parameters(), lr=0.2)
for step in range(250):
    v = patterns[torch.randint(0, 5, (64,))]
    flip = torch.rand_like(v) < 0.02
    v = torch.where(flip, 1 - v, v)
    loss = rbm.free_energy(v) - rbm.free_energy(rbm(v))
    train_op.zero_grad()
    loss.backward()
    train_op.step()
    if step % 50 == 0 or step == 249:
        with torch.no_grad():
            error = (rbm.h_to_v(rbm.v_to_h(v)) - v).abs().mean().item()
        print(f"step {step} free energy gap {loss.item():+.4f} reconstruction error {error:.4f}")
