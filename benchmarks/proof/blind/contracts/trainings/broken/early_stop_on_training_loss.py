r"""A training.

Source: https://lightning.ai/docs/pytorch/stable/common/early_stopping.html
Fault: Early stopping and the choice of the best weights follow the training loss instead of the
    validation loss.
Cause: (early.?stop|best|patience|checkpoint|select)\w*.{0,120}train
    |train\w* loss.{0,80}(stop|select|best|monitor)|valid\w* loss.{0,60}(not|never|unused|ignored)
"""

import copy
import torch
from torch import nn

torch.manual_seed(196)
x = torch.randn(200, 20)
y = (x[:, 0] + x[:, 1] * x[:, 2] + 0.5 * torch.randn(200) > 0).float()
xtr, ytr, xva, yva = x[:100], y[:100], x[100:], y[100:]

model = nn.Sequential(nn.Linear(20, 100), nn.ReLU(), nn.Linear(100, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
patience, wait, best, best_state = 8, 0, float("inf"), None
for epoch in range(150):
    model.train()
    opt.zero_grad()
    train_loss = bce(model(xtr).squeeze(1), ytr)
    train_loss.backward()
    opt.step()
    model.eval()
    with torch.no_grad():
        val_loss = bce(model(xva).squeeze(1), yva)
    current = train_loss.item()
    if current < best:
        best, wait = current, 0
        best_state = copy.deepcopy(model.state_dict())
    else:
        wait += 1
        if wait >= patience:
            break
model.load_state_dict(best_state)
with torch.no_grad():
    print(f"stopped at {epoch}, val loss {bce(model(xva).squeeze(1), yva).item():.4f}")
