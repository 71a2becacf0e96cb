r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(158)
n = 900
x = torch.rand(n, 6)
y = (10 * torch.sin(3.14 * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]) / 5
y = (y - y.mean()).unsqueeze(1) + 0.1 * torch.randn(n, 1)
train_ds, val_ds = random_split(TensorDataset(x, y), [700, 200])
train_loader = DataLoader(train_ds, batch_size=50, shuffle=True)
val_loader = DataLoader(val_ds, batch_size=50)

net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
mse = nn.MSELoss()


def epoch_loss(loader, train):
    net.train(train)
    total = 0.0
    for xb, yb in loader:
        with torch.set_grad_enabled(train):
            loss = mse(net(xb), yb)
        if train:
            opt.zero_grad()
            loss.backward()
            opt.step()
        total += loss.item() * len(xb)
    return total / len(loader.dataset)


for epoch in range(8):
    tl = epoch_loss(train_loader, True)
    vl = epoch_loss(val_loader, False)
    print(f"epoch {epoch} train {tl:.5f} val {vl:.5f}")
