r"""Trains a small CNN with warm restarts of the learning rate.

Source: https://github.com/loshchil/SGDR
    https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.html
Odd: The learning rate jumps from almost zero to its maximum several times and the loss jumps with
    it; that is the schedule, and each cycle ends lower than the one before.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.fc1 = nn.Linear(8 * 16, 32)
        self.fc2 = nn.Linear(32, 6)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


torch.manual_seed(0)
templates = torch.randn(6, 1, 8, 8)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=30, T_mult=2, eta_min=1e-5)
for step in range(210):
    target = torch.randint(0, 6, (64,))
    data = templates[target] + 2.0 * torch.randn(64, 1, 8, 8)
    loss = F.cross_entropy(model(data), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 15 == 14:
        print(f"step {step} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.5f}")
