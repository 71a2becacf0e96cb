"""A net whose parts are called one after the other; its forward is called to evaluate."""

import json

import torch
from torch import nn

torch.manual_seed(51)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.features(x))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
centers = 2 * torch.randn(4, 8)
losses = []
for epoch in range(4):
    net.train()
    for _ in range(25):
        y = torch.randint(4, (32,))
        h = net.features(centers[y] + torch.randn(32, 8))
        loss = nn.functional.cross_entropy(net.head(h), y)
        loss = loss + 0.01 * h.abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        y = torch.randint(4, (128,))
        accuracy = (net(centers[y] + torch.randn(128, 8)).argmax(1) == y).float().mean().item()
    print(f"epoch {epoch}: loss {losses[-1]:.4f} accuracy {accuracy:.3f}")
print("TRUTH", json.dumps({"net": ["Adam", 100, losses[0], losses[-1]]}))
