r"""Colouring network whose optimizer is made by a helper with places for each value.

Source: https://github.com/jolibrain/joliGEN/pull/555
Fault: The fourth place of Adam is eps, not weight_decay: weights do not decay, and eps is 0.05.
Cause: \beps(ilon)?\b|decay\w*
Place: \beps\b|weight_decay
"""

import torch
from torch import nn


def optim(name, params, lr, betas, weight_decay):
    if name == "adam":
        return torch.optim.Adam(params, lr, betas, weight_decay)  # here
    return torch.optim.RMSprop(params, lr, weight_decay=weight_decay)


torch.manual_seed(0)
grey = torch.rand(128, 1, 8, 8)
colour = torch.cat([grey, grey.square(), 1 - grey], 1)
net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1), nn.Sigmoid()
)
optimizer = optim("adam", net.parameters(), 2e-3, (0.9, 0.999), 0.05)
for epoch in range(8):
    for index in torch.randperm(128).split(16):
        loss = nn.functional.mse_loss(net(grey[index]), colour[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.4f}")
