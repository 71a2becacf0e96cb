r"""A training.

Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
Fault: The evaluation loader has drop_last=True, so the last incomplete batch is never evaluated.
Cause: drop_?last
    |(last|incomplete|partial|remaining|some) (batch|sample|example)s?.{0,60}(drop|skip|miss|never|not)
    |leaves \d+ of \d+ samples out
"""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(156)
n = 790
easy = torch.arange(n) < 700
x = torch.randn(n, 8)
y = (x[:, :2].sum(1) > 0).long()
x = torch.where(easy[:, None], x, x + 1.5 * torch.randn(n, 8))
train_idx = torch.cat([torch.arange(0, 560), torch.arange(700, 730)])
eval_idx = torch.cat([torch.arange(560, 700), torch.arange(730, 790)])
settings = dict(batch_size=64, num_workers=0)
train_dl = DataLoader(TensorDataset(x[train_idx], y[train_idx]), shuffle=True, drop_last=True, **settings)
eval_dl = DataLoader(TensorDataset(x[eval_idx], y[eval_idx]), drop_last=True, **settings)

model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(6):
    model.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        ce(model(xb), yb).backward()
        opt.step()
    model.eval()
    hits = seen = 0
    with torch.no_grad():
        for xb, yb in eval_dl:
            hits += (model(xb).argmax(1) == yb).sum().item()
            seen += len(yb)
    print(f"epoch {epoch} eval acc {hits / seen:.4f}")
