r"""Trains a forecaster with a loss that is written with Python numbers.

Source: https://discuss.pytorch.org/t/runtimeerror-element-0-of-variables-does-not-require-grad-and-does-not-have-a-grad-fn/11074
    https://github.com/paiml/aprender/issues/3034
Fault: the loss is computed from detached values and wrapped in a new tensor with
    requires_grad=True; backward runs without an error but no parameter gets a gradient.
Cause: detach|\bgraph\b|new tensor|torch.tensor|requires_grad|\.item|tolist|no gradient|disconnect
Place: smooth_l1
"""

import torch
from torch import nn

torch.manual_seed(2)


def smooth_l1(prediction, target, beta=1.0):
    values = []
    for diff in (prediction - target).flatten().tolist():
        size = abs(diff)
        values.append(0.5 * size**2 / beta if size < beta else size - 0.5 * beta)
    return torch.tensor(values, requires_grad=True).mean()  # here


class Forecaster(nn.Module):
    def __init__(self, lags=12, horizon=3):
        super().__init__()
        self.trend = nn.Linear(lags, horizon)
        self.residual = nn.Sequential(nn.Linear(lags, 16), nn.ReLU(), nn.Linear(16, horizon))

    def forward(self, history):
        return self.trend(history) + self.residual(history)


t = torch.arange(400) / 7
series = torch.sin(t) + 0.3 * torch.cos(3 * t)
windows = series.unfold(0, 15, 1)
model = Forecaster()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for epoch in range(6):
    total = 0.0
    for rows in torch.randperm(len(windows)).split(64):
        history, future = windows[rows, :12], windows[rows, 12:]
        loss = smooth_l1(model(history), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 7
    print(f"epoch {epoch} loss {total:.5f}")
