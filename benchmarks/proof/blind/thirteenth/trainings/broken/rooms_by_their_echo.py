r"""Tells the size of a room from its echo, with a slow body and a fast head.

Source: https://docs.pytorch.org/docs/stable/optim.html
Fault: The rate is lowered by hand every few epochs, but only in the first of the two groups of
    the optimizer; the head keeps its high rate to the end, and its weights go on jumping.
Cause: param_groups?\[0\]|(only|just).*(first|one).*group|second.*group|(other|last|head).*group
    |all.*(param(eter)?[_ ])?groups|head.*(rate|lr)|each group|every group
Place: param_groups|head|group|lower
"""
import torch
from torch import nn

torch.manual_seed(41)


def echoes(n):
    volume = torch.rand(n) * 2
    damping = 0.5 + torch.rand(n)
    t = torch.linspace(0, 2, 48)
    tail = torch.exp(-t * damping[:, None] * 2 / (0.4 + volume[:, None]))
    tail = tail / (0.5 + volume[:, None])
    return tail + 0.03 * torch.randn(n, 48), torch.stack([volume, damping], 1)


class RoomNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        return self.head(self.body(x))


def lower(optimizer, factor):
    optimizer.param_groups[0]["lr"] *= factor  # here


def error(model, x, y):
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


x, y = echoes(1500)
y = y + 0.3 * torch.randn_like(y)
test_x, test_y = echoes(600)
model = RoomNet()
optimizer = torch.optim.SGD([
    {"params": model.body.parameters(), "lr": 1e-2},
    {"params": model.head.parameters(), "lr": 1e-1},
], momentum=0.9)

for epoch in range(30):
    if epoch in (10, 18, 24):
        lower(optimizer, 0.1)
    for part in torch.randperm(len(x)).split(25):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[part]), y[part])
        loss.backward()
        optimizer.step()
    if epoch % 6 == 5:
        print(f"epoch {epoch + 1}: {error(model, x, y):.4f} / {error(model, test_x, test_y):.4f}")
