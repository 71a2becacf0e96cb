r"""Trains a price model on a table with a few empty cells.

Source: https://github.com/keras-team/keras/issues/6447
Fault: some cells of the table are nan and are neither filled nor dropped, so the loss and all the
    weights become nan in the first epoch.
Cause:
    \bnan\b.*\b(data|inputs?|features?|table|batch)|(data|inputs?|features?|table|cells|batch)\b.*\bnan|missing|isnan
Place: \btable\b|\bfeatures\b|\bloader\b
"""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rng = np.random.default_rng(0)


def read_table(rows=600):
    """Return numeric columns as a csv reader gives them, and prices."""
    table = rng.normal(size=(rows, 8)).astype(np.float32)
    price = table[:, 0] * 2 - table[:, 3] + 0.1 * rng.normal(size=rows)
    table[rng.integers(0, rows, 5), rng.integers(0, 8, 5)] = np.nan
    return table, price.astype(np.float32)


table, price = read_table()
features = torch.from_numpy(table)  # here
loader = DataLoader(
    TensorDataset(features, torch.from_numpy(price)[:, None]), batch_size=50, shuffle=True
)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}")
