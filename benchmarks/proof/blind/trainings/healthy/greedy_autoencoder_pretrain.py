r"""Stacked denoising autoencoders trained layer by layer, then a classifier on top.

Source: https://github.com/vlukiyanov/pt-sdae
    https://github.com/ShayanPersonal/stacked-autoencoder-pytorch
Odd: At any time only one layer is in the optimizer, the layers below run under no_grad, and the
    target of a layer is its own clean input.
"""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
mix = torch.randn(4, 32)


def batch(n=128):
    z = torch.randn(n, 4)
    return torch.tanh(z @ mix), (z[:, 0] > 0).long()


sizes = [32, 16, 8]
encoders = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
for depth, encoder in enumerate(encoders):
    decoder = nn.Linear(sizes[depth + 1], sizes[depth])
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    for step in range(80):
        x, _ = batch()
        with torch.no_grad():
            for below in encoders[:depth]:
                x = torch.tanh(below(x))
        noisy = x * (torch.rand_like(x) > 0.2)
        loss = F.mse_loss(decoder(torch.tanh(encoder(noisy))), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (0, 79):
            print(f"layer {depth} step {step} reconstruction {loss.item():.4f}")

head = nn.Linear(8, 2)
optimizer = torch.optim.Adam([*encoders.parameters(), *head.parameters()], lr=5e-3)
for step in range(80):
    x, y = batch()
    for encoder in encoders:
        x = torch.tanh(encoder(x))
    loss = F.cross_entropy(head(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 in (0, 39):
        print(f"fine-tuning step {step} loss {loss.item():.4f}")
