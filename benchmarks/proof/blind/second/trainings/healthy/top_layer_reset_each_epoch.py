"""Clusters features and trains on the cluster numbers, with a new top layer per epoch.

Source: https://github.com/facebookresearch/deepcluster/blob/main/main.py
Odd: the last layer is set to random values and the targets change at each epoch, so the loss jumps
    up; the numbers of the clusters have no meaning across epochs.
"""

import torch
from torch import nn

torch.manual_seed(31)
truth = torch.arange(400) % 4
x = torch.randn(4, 12)[truth] * 1.5 + 0.8 * torch.randn(400, 12)


def k_means(feats, k=4, rounds=10):
    centres = feats[torch.randperm(len(feats))[:1]]
    while len(centres) < k:
        far = torch.cdist(feats, centres).min(1).values.argmax()
        centres = torch.cat([centres, feats[far : far + 1]])
    for _ in range(rounds):
        assigned = torch.cdist(feats, centres).argmin(1)
        for c in range(k):
            if (assigned == c).any():
                centres[c] = feats[assigned == c].mean(0)
    return assigned


def purity(assigned):
    table = torch.zeros(4, 4).index_put((assigned, truth), torch.ones(400), accumulate=True)
    return table.max(1).values.sum().item() / 400


features = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16))
top_layer = nn.Linear(16, 4)
optimizer = torch.optim.SGD(features.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-5)
for epoch in range(6):
    with torch.no_grad():
        feats = features(x)
        deepcluster = k_means((feats - feats.mean(0)) / feats.std(0))
    top_layer.weight.data.normal_(0, 0.01)
    top_layer.bias.data.zero_()
    optimizer_tl = torch.optim.SGD(top_layer.parameters(), lr=0.05, weight_decay=1e-5)
    losses = []
    for _ in range(3):
        for rows in torch.randperm(400).split(40):
            logits = top_layer(features(x[rows]).relu())
            loss = nn.functional.cross_entropy(logits, deepcluster[rows])
            optimizer.zero_grad()
            optimizer_tl.zero_grad()
            loss.backward()
            optimizer.step()
            optimizer_tl.step()
            losses.append(loss.item())
    found = purity(deepcluster)
    print(f"epoch {epoch} first {losses[0]:.3f} last {losses[-1]:.3f} purity {found:.3f}")
