"""A fresh model for each fold under one name, in the style of tabular competitions."""

import json

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(45)
rng = np.random.default_rng(45)
x = rng.normal(size=(240, 6)).astype("float32")
y = (x[:, 0] * x[:, 1] + 0.5 * x[:, 2]).astype("float32")[:, None]


class TabularModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.batch_norm = nn.BatchNorm1d(6)
        self.dense1, self.dropout = nn.utils.parametrizations.weight_norm(nn.Linear(6, 32)), None
        self.dropout = nn.Dropout(0.1)
        self.dense2 = nn.utils.parametrizations.weight_norm(nn.Linear(32, 1))

    def forward(self, x):
        x = self.batch_norm(x)
        return self.dense2(self.dropout(nn.functional.leaky_relu(self.dense1(x))))


scores = []
for fold in range(3):
    valid = np.arange(240) % 3 == fold
    train_set = TensorDataset(torch.tensor(x[~valid]), torch.tensor(y[~valid]))
    loader = DataLoader(train_set, batch_size=32, shuffle=True, drop_last=True)
    model = TabularModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
    for _ in range(12):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = nn.MSELoss()(model(xb), yb)
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        scores.append(nn.MSELoss()(model(torch.tensor(x[valid])), torch.tensor(y[valid])).item())
    print(f"fold {fold}: {scores[-1]:.4f}")
print("TRUTH", json.dumps({}))
