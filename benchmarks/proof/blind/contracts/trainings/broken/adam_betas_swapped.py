r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adam.html
Fault: Adam's betas are given in the wrong order, (0.999, 0.9), so the momentum averages a
    thousand steps and the second moment only ten.
Cause: betas?.{0,100}(swap|order|revers|wrong|unusual|0\.999)|momentum.{0,60}(too|long|slow)
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(64)
K = 5
angles = torch.rand(1000) * 3
arm = torch.randint(0, K, (1000,))
theta = arm * 2 * 3.1416 / K + 0.6 * angles
pts = torch.stack([angles * theta.cos(), angles * theta.sin()], 1) + 0.07 * torch.randn(1000, 2)
loader = DataLoader(TensorDataset(pts[:800], arm[:800]), batch_size=80, shuffle=True)

net = nn.Sequential(
    nn.Linear(2, 64), nn.ReLU(),
    nn.Linear(64, 64), nn.ReLU(),
    nn.Linear(64, K),
)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3, betas=(0.999, 0.9))
criterion = nn.CrossEntropyLoss()
for epoch in range(15):
    net.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(yb)
    if epoch % 3 == 2:
        net.eval()
        with torch.no_grad():
            acc = (net(pts[800:]).argmax(1) == arm[800:]).float().mean()
        print(f"epoch {epoch + 1} loss {total / 800:.3f} test acc {acc:.3f}")
