r"""A deep residual network whose blocks are switched on by a scalar that starts at zero.

Source: https://github.com/majumderb/rezero
Odd: At the first step all weights inside the blocks have a gradient of exactly zero, because each
    gate is zero; the gates move at once and the blocks follow.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RZBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.resweight = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.resweight * torch.relu(self.linear(x))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), *[RZBlock(32) for _ in range(16)], nn.Linear(32, 1))
optimizer = torch.optim.Adagrad(net.parameters(), lr=0.02)
x = torch.randn(400, 10)
y = (x[:, :3].prod(1, keepdim=True) + x[:, 3:4].abs()).clamp(-3, 3)
for epoch in range(150):
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 30 == 0 or epoch == 149:
        gates = torch.stack([m.resweight for m in net if isinstance(m, RZBlock)]).abs().mean()
        print(f"epoch {epoch} loss {loss.item():.4f} mean gate {gates.item():.4f}")
