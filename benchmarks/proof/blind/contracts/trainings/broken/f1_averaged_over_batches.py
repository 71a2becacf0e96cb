r"""A training.

Source: https://lightning.ai/docs/torchmetrics/stable/pages/overview.html
Fault: The F1 score is computed per batch and averaged, which is not the F1 of the whole set,
    especially with few positives.
Cause: (per|each|every).?batch|averag\w*.{0,60}batch|batch.{0,80}averag
    |f1.{0,100}(batch|whole|entire|accumulat|averag)
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(202)
n = 1200
x = torch.randn(n, 6)
y = (x[:, 0] + 0.6 * x[:, 1] + 0.6 * torch.randn(n) > 1.9).float()
train = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=80, shuffle=True)
val = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=16)


def f1_score(pred, true):
    tp = (pred * true).sum()
    denom = pred.sum() + true.sum()
    return (2 * tp / denom).item() if denom > 0 else 0.0


model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for xb, yb in train:
        loss = nn.functional.binary_cross_entropy_with_logits(model(xb).squeeze(1), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    preds, trues = [], []
    with torch.no_grad():
        for xb, yb in val:
            preds.append((model(xb).squeeze(1) > 0).float())
            trues.append(yb)
    score = sum(f1_score(p, t) for p, t in zip(preds, trues)) / len(preds)
    print(f"epoch {epoch} loss {loss.item():.4f} val f1 {score:.4f}")
