r"""Three quantiles of a target by one network.

Source: https://github.com/ml-stat-Sustech/TorchCP/issues/27
Odd: The loss is not symmetric, and the target is compared with three outputs by broadcasting.
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(600, 1) * 4 - 2
y = torch.sin(2 * x) + (0.1 + 0.2 * x.abs()) * torch.randn(600, 1)
quantiles = torch.tensor([0.1, 0.5, 0.9])
net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1.5e-2)
for epoch in range(6):
    for index in torch.randperm(600).split(60):
        error = y[index] - net(x[index])
        loss = torch.max(quantiles * error, (quantiles - 1) * error).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
share = (y <= net(x)).float().mean(0).tolist()
print(f"loss {loss.item():.4f}, below each quantile {[round(s, 2) for s in share]}")
