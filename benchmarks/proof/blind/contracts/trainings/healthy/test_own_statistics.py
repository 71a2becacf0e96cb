r"""A training.

Source: https://scikit-learn.org/stable/common_pitfalls.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(162)


def clinic(n, young_share):
    young = torch.rand(n) < young_share
    age = torch.where(young, 25 + 8 * torch.randn(n), 65 + 8 * torch.randn(n))
    weight = 60 + 0.3 * age + 8 * torch.randn(n)
    ill = (0.08 * (age - 50) + 0.04 * (weight - 75) + 0.5 * torch.randn(n) > 0).float()
    return torch.stack([age, weight], 1), ill


def standardize(x, mean, std):
    return (x - mean) / std


x_train, y_train = clinic(700, 0.7)
x_test, y_test = clinic(300, 0.15)
mean, std = x_train.mean(0), x_train.std(0)
x_train = standardize(x_train, mean, std)
x_test = standardize(x_test, mean, std)

model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
bce = nn.BCEWithLogitsLoss()
for epoch in range(8):
    for xb, yb in DataLoader(TensorDataset(x_train, y_train), batch_size=70, shuffle=True):
        opt.zero_grad()
        loss = bce(model(xb).squeeze(1), yb)
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    print("test acc", ((model(x_test).squeeze(1) > 0).float() == y_test).float().mean().item())
