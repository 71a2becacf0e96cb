r"""Regression whose uncertainty comes from many random passes.

Source: https://github.com/yaringal/DropoutUncertaintyExps
Odd: The model stays in training mode for the predictions, since dropout gives their spread.
"""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(1, 64), nn.ReLU(), nn.Dropout(p), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(p)
        )
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.layers(x))


def predict(net, x, passes=100):
    net.train()
    with torch.no_grad():
        samples = torch.stack([net(x) for _ in range(passes)])
    return samples.mean(0), samples.std(0)


torch.manual_seed(0)
x = torch.cat([torch.rand(200, 1) * 2 - 3, torch.rand(200, 1) * 2 + 1])
y = torch.sin(2 * x) + 0.05 * torch.randn(400, 1)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=1e-6)
for step in range(100):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 24:
        print(f"step {step + 1} loss {loss.item():.4f}")
mean, std = predict(net, x)
_, far = predict(net, torch.tensor([[-6.0], [6.0]]))
print(f"error of the mean {(mean - y).square().mean().item():.4f}")
print(f"spread near the data {std.mean().item():.4f}, far from it {far.mean().item():.4f}")
