r"""A training.

Source: https://scikit-learn.org/stable/modules/cross_validation.html
Healthy: the right twin of the broken case of this name.
"""

import copy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(198)
n = 500
x = torch.randn(n, 30)
y = (x[:, :3].sum(1) + 1.5 * torch.randn(n) > 0).long()
train = TensorDataset(x[:300], y[:300])
val = (x[300:400], y[300:400])
test = (x[400:], y[400:])


def accuracy(net, split):
    net.eval()
    with torch.no_grad():
        return (net(split[0]).argmax(1) == split[1]).float().mean().item()


net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
best_acc, best_net = 0.0, None
for epoch in range(15):
    net.train()
    for xb, yb in DataLoader(train, batch_size=30, shuffle=True):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    acc = accuracy(net, val)
    if acc > best_acc:
        best_acc, best_net = acc, copy.deepcopy(net)
    print(f"epoch {epoch} acc {acc:.3f}")
print("selected at", best_acc, "test accuracy", accuracy(best_net, test))
