r"""Learns embeddings with a triplet margin loss and random triplets.

Source: https://github.com/adambielski/siamese-triplet/blob/master/losses.py
    https://github.com/HanjiangHu/DASGIL/issues/7
Odd: Towards the end whole batches have a loss and gradients of exactly zero: every negative is
    farther than the margin.
"""

import torch
import torch.nn.functional as F
from torch import nn


class EmbeddingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(24, 64), nn.PReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.fc(x)


class TripletLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative):
        distance_positive = (anchor - positive).pow(2).sum(1)
        distance_negative = (anchor - negative).pow(2).sum(1)
        return F.relu(distance_positive - distance_negative + self.margin).mean()


torch.manual_seed(0)
prototypes = torch.randn(4, 24)
net, criterion = EmbeddingNet(), TripletLoss(margin=1.0)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(300):
    a = torch.randint(0, 4, (32,))
    n = (a + torch.randint(1, 4, (32,))) % 4
    anchor, positive, negative = (net(prototypes[c] + 0.7 * torch.randn(32, 24)) for c in (a, a, n))
    loss = criterion(anchor, positive, negative)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0 or step == 299:
        norm = sum(p.grad.norm() for p in net.parameters()).item()
        print(f"step {step} loss {loss.item():.5f} gradient {norm:.5f}")
