r"""A training.

Source: https://imbalanced-learn.org/stable/common_pitfalls.html
Fault: The rare class is oversampled before the split, so copies of the same samples lie in both
    the training and the validation set.
Cause: leak|duplicat|oversampl|cop(y|ies)|overlap|both (the )?(train|sets|split)
    |same (sample|row|example)
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(164)
n = 600
y = (torch.rand(n) < 0.1).long()
x = torch.randn(n, 20)
x[:, 0] += 0.8 * y


def oversample(a, b):
    minority = (b == 1).nonzero().flatten()
    extra = minority[torch.randint(len(minority), (int((b == 0).sum()) - len(minority),))]
    return torch.cat([a, a[extra]]), torch.cat([b, b[extra]])


g = torch.Generator().manual_seed(1)
x, y = oversample(x, y)
n_val = len(x) // 5
train_set, val_set = random_split(TensorDataset(x, y), [len(x) - n_val, n_val], generator=g)
model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 2))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for xb, yb in DataLoader(train_set, batch_size=64, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
xv, yv = val_set[:]
with torch.no_grad():
    pred = model(xv).argmax(1)
print("val recall of minority", (pred[yv == 1] == 1).float().mean().item())
