r"""A training.

Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
Fault: The validation runs with the model still in training mode, so dropout is active and batch
    norm uses and updates batch statistics.
Cause: (\.?eval\(\)|eval(uation)? mode|train(ing)? mode|dropout|batch ?norm).{0,100}
    |never.{0,20}eval
"""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
centers = torch.randn(4, 10) * 1.6
labels = torch.randint(0, 4, (900,))
points = centers[labels] + torch.randn(900, 10)
train_dl = DataLoader(TensorDataset(points[:700], labels[:700]), batch_size=50, shuffle=True)
val_dl = DataLoader(TensorDataset(points[700:], labels[700:]), batch_size=50)

model = nn.Sequential(
    nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5),
    nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 4),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()


def validate():
    total, hit, lsum = 0, 0, 0.0
    with torch.no_grad():
        for xb, yb in val_dl:
            out = model(xb)
            lsum += loss_fn(out, yb).item() * len(yb)
            hit += (out.argmax(1) == yb).sum().item()
            total += len(yb)
    return lsum / total, hit / total


for epoch in range(8):
    model.train()
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss_fn(model(xb), yb).backward()
        optimizer.step()
    vl, va = validate()
    print(f"epoch {epoch}: val loss {vl:.4f} acc {va:.3f}")
