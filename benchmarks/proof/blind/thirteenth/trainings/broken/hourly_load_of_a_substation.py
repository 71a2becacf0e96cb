r"""Forecasts the load of a substation one hour ahead and keeps the curves of both losses.

Source: https://discuss.pytorch.org/t/43284
Fault: The validation loss is added up and kept as a tensor that still hangs on its graph, for
    the pass runs with gradients on and nothing is detached or turned into a number; the list of
    the history therefore keeps all activations of every validation and the memory grows with
    each epoch.
Cause: (graph|memory|activation).*(kept|keeps?|hold|held|alive|grow|accumulat|retain)
    |(keep|hold|retain|accumulat|append|stor)\w*.*(graph|grad_fn|attached|requires?_grad)
    |(loss|history|list|sum).*(detach|\.item)|(detach|\.item).*(loss|history|list|sum)|no_grad
Place: history|val_loss|valid|running
"""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
HOURS = 24


def load_curve(n):
    t = torch.arange(n, dtype=torch.float32)
    daily = torch.sin(2 * math.pi * t / 24) + 0.4 * torch.sin(4 * math.pi * t / 24 + 1)
    weekly = 0.3 * torch.cos(2 * math.pi * t / 168)
    noise = torch.randn(n) * 0.1
    return daily + weekly + noise


series = load_curve(5000)
windows = series.unfold(0, HOURS + 1, 1)
inputs, targets = windows[:, :HOURS], windows[:, HOURS:]
train = TensorDataset(inputs[:2400], targets[:2400])
valid = TensorDataset(inputs[2500:], targets[2500:])
train_loader = DataLoader(train, batch_size=64, shuffle=True)
valid_loader = DataLoader(valid, batch_size=256)


class Forecaster(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(HOURS, width), nn.GELU(), nn.Linear(width, width), nn.GELU(),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.layers(x)


model = Forecaster()
criterion = nn.MSELoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
history = {"train": [], "valid": []}

for epoch in range(15):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    history["train"].append(running / len(train_loader))

    model.eval()
    val_loss = 0.0
    for x, y in valid_loader:
        val_loss += criterion(model(x), y)  # here
    history["valid"].append(val_loss / len(valid_loader))
    print(f"epoch {epoch}: train {history['train'][-1]:.4f} valid {history['valid'][-1]:.4f}")

print(f"gain over the epochs: {history['valid'][0] - history['valid'][-1]:.4f}")
