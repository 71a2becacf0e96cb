r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(210)
n = 600
x = torch.randn(n, 8)
rank = x @ torch.randn(8)
loader = DataLoader(TensorDataset(x[:500], rank[:500]), batch_size=50, shuffle=True)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)


def pairwise_loss(score, truth):
    i, j = torch.triu_indices(len(score), len(score), 1)
    sign = torch.sign(truth[i] - truth[j])
    terms = nn.functional.softplus(-sign * (score[i] - score[j]))
    return terms.mean()


for epoch in range(6):
    total = 0.0
    for xb, rb in loader:
        opt.zero_grad()
        loss = pairwise_loss(net(xb).squeeze(1), rb)
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}")
with torch.no_grad():
    s = net(x[500:]).squeeze(1)
agree = ((s[:, None] > s) == (rank[500:, None] > rank[500:])).float().mean()
print("pair agreement", agree.item())
