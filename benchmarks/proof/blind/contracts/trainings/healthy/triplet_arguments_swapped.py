r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TripletMarginLoss.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(238)
K, per = 5, 80
mu = 1.2 * torch.randn(K, 14)
x = mu[:, None] + torch.randn(K, per, 14)
train, test = x[:, :60], x[:, 60:]


def triplets(n):
    c = torch.randint(K, (n,))
    other = (c + torch.randint(1, K, (n,))) % K
    i, j, k = torch.randint(0, 60, (3, n))
    return train[c, i], train[other, k], train[c, j]


embed = nn.Sequential(nn.Linear(14, 48), nn.ReLU(), nn.Linear(48, 8))
criterion = nn.TripletMarginLoss(margin=1.0)
opt = torch.optim.Adam(embed.parameters(), lr=3e-3)
for step in range(100):
    anchor, negative, positive = triplets(48)
    loss = criterion(embed(anchor), embed(positive), embed(negative))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 24:
        print(f"step {step + 1} loss {loss.item():.4f}")

with torch.no_grad():
    ref = embed(train.reshape(-1, 14))
    qry = embed(test.reshape(-1, 14))
near = torch.cdist(qry, ref).argmin(1) // 60
print("retrieval acc", (near == torch.arange(K).repeat_interleave(20)).float().mean().item())
