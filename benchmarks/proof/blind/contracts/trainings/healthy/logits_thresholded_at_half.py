r"""A training of `Churn`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(270)
n = 1000
x = torch.randn(n, 5)
y = torch.bernoulli(torch.sigmoid(0.8 * x[:, 0] - 0.6 * x[:, 1] + 0.4 * x[:, 2]))
train_dl = DataLoader(TensorDataset(x[:700], y[:700]), batch_size=50, shuffle=True)
val_dl = DataLoader(TensorDataset(x[700:], y[700:]), batch_size=100)


class Churn(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(5, 16)
        self.fc2 = nn.Linear(16, 1)

    def forward(self, v):
        return self.fc2(torch.relu(self.fc1(v))).squeeze(1)


model = Churn()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(6):
    model.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        opt.step()
    model.eval()
    tp = ok = 0
    with torch.no_grad():
        for xb, yb in val_dl:
            pred = (torch.sigmoid(model(xb)) > 0.5).float()
            ok += (pred == yb).sum().item()
            tp += (pred * yb).sum().item()
    print(f"epoch {epoch} val acc {ok / 300:.3f} recall {tp / y[700:].sum().item():.3f}")
