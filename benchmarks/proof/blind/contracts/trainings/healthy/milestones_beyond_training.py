r"""A training of `RingNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiStepLR.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(97)
n = 750
u = torch.rand(n, 2) * 2 - 1
ring = (u.norm(dim=1) * 4).long().clamp(max=3)
train_dl = DataLoader(TensorDataset(u[:600], ring[:600]), batch_size=60, shuffle=True)


class RingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, p):
        return self.layers(p)


net = RingNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.4, momentum=0.9)
scheduler = MultiStepLR(optimizer, milestones=[10, 15], gamma=0.1)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(20):
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = loss_fn(net(xb), yb)
        loss.backward()
        optimizer.step()
    scheduler.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {loss.item():.4f}")
net.eval()
with torch.no_grad():
    print("acc", (net(u[600:]).argmax(1) == ring[600:]).float().mean().item())
