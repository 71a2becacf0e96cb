r"""Regression of counts by their logarithmic rate.

Source: https://pytorch.org/docs/stable/generated/torch.nn.PoissonNLLLoss.html
Odd: The loss has no constant terms and is below zero where counts are large.
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 6)
counts = torch.poisson(torch.exp(1.2 + 0.6 * x[:, 0] - 0.4 * x[:, 1]))
model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.PoissonNLLLoss(log_input=True)
for epoch in range(6):
    for index in torch.randperm(400).split(40):
        loss = criterion(model(x[index]).squeeze(1), counts[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
