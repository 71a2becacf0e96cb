r"""Trains with dropout and validates after each epoch.

Source: https://github.com/pliang279/MultiBench/issues/26
    https://github.com/Zhenye-Na/DA-RNN/issues/30
Fault: model.train() is called inside the validation, so dropout is on and batch norm learns from
    the validation data while the validation loss is measured.
Cause: train\(\)|train(ing)? mode|eval(uation)? mode|\beval\b|dropout|batch.?norm
Place: model\.train|validate
"""

import torch
from torch import nn

torch.manual_seed(3)
x = torch.randn(400, 20)
y = (x[:, :3].sum(1) > 0).long()
train_x, train_y, valid_x, valid_y = x[:300], y[:300], x[300:], y[300:]
model = nn.Sequential(
    nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.6), nn.Linear(64, 2)
)
objective = nn.CrossEntropyLoss()
op = torch.optim.AdamW(model.parameters(), lr=5e-3)


def train_epoch():
    model.train()
    total = 0.0
    for rows in torch.randperm(300).split(30):
        op.zero_grad()
        loss = objective(model(train_x[rows]), train_y[rows])
        loss.backward()
        op.step()
        total += loss.item() / 10
    return total


def validate():
    model.eval()
    total = 0.0
    with torch.no_grad():
        for j in range(0, 100, 25):
            model.train()  # here
            out = model(valid_x[j : j + 25])
            total += objective(out, valid_y[j : j + 25]).item() / 4
    return total


for epoch in range(8):
    print(f"Epoch {epoch} train loss: {train_epoch():.4f} valid loss: {validate():.4f}")
