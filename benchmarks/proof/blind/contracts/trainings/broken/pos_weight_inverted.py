r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
Fault: pos_weight is positives / negatives instead of negatives / positives, so the rare positive
    class is weighted down.
Cause: pos_weight|(positive|minority|rare).{0,80}(weight|down)|invert|ratio|upside
"""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(132)
n = 1500
amount = torch.randn(n).exp()
hour = torch.rand(n) * 24
foreign = (torch.rand(n) < 0.2).float()
logit = 1.2 * amount.log() + 1.5 * foreign + 1.0 * (hour < 5).float() - 4.0
fraud = torch.bernoulli(torch.sigmoid(logit))
X = torch.stack([amount.log(), hour / 24, foreign], 1)
cut = 1200
n_pos = fraud[:cut].sum()
n_neg = cut - n_pos

net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
loss_fn = nn.BCEWithLogitsLoss(pos_weight=n_pos / n_neg)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
dl = DataLoader(TensorDataset(X[:cut], fraud[:cut]), batch_size=100, shuffle=True)
for epoch in range(12):
    total = 0.0
    for xb, yb in dl:
        optimizer.zero_grad()
        loss = loss_fn(net(xb).squeeze(1), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(dl):.4f}")

with torch.no_grad():
    hit = net(X[cut:]).squeeze(1) > 0
truth = fraud[cut:] == 1
print("recall", (hit & truth).sum().item() / truth.sum().item(), "flagged", hit.sum().item())
