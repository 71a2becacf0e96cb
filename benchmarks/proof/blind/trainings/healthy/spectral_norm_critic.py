r"""Trains a Lipschitz critic with spectral normalisation and a hinge loss.

Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.spectral_norm.html
    https://github.com/christiancosgrove/pytorch-spectral-normalization-gan
Odd: The trained parameters are called "original", the effective weights differ from them, and the
    buffers u and v change in every forward pass.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(0)
critic = nn.Sequential(
    spectral_norm(nn.Linear(2, 48)),
    nn.LeakyReLU(0.1),
    spectral_norm(nn.Linear(48, 48)),
    nn.LeakyReLU(0.1),
    spectral_norm(nn.Linear(48, 1)),
)
optimizer = torch.optim.Adam(critic.parameters(), lr=5e-3, betas=(0.0, 0.9))
for step in range(200):
    real = torch.randn(64, 2) * 0.3 + torch.tensor([2.0, 0.0])
    fake = torch.randn(64, 2) * 0.3 + torch.tensor([-2.0, 0.0])
    loss = F.relu(1 - critic(real)).mean() + F.relu(1 + critic(fake)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39 or step == 0:
        norm = torch.linalg.matrix_norm(critic[0].weight, 2).item()
        print(f"step {step} hinge loss {loss.item():.4f} norm of the first weight {norm:.4f}")
