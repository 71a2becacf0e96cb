r"""A training.

Source: https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(192)
mu = torch.randn(4, 10)
lab = torch.randint(4, (800,))
pts = mu[lab] + torch.randn(800, 10)
order = torch.argsort(torch.cat([torch.zeros(640), lab[640:].float() + 1]), stable=True)
pts, lab = pts[order], lab[order]
train_dl = DataLoader(TensorDataset(pts[:640], lab[:640]), batch_size=64, shuffle=True)
test_dl = DataLoader(TensorDataset(pts[640:], lab[640:]), batch_size=32)


def evaluate(model, loader):
    model.eval()
    correct, count = 0, 0
    with torch.no_grad():
        for xb, yb in loader:
            pred = model(xb).argmax(dim=1)
            correct += (pred == yb).sum().item()
            count += yb.numel()
    return correct / count


model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 4))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for xb, yb in train_dl:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f} test acc {evaluate(model, test_dl):.4f}")
