r"""Contrastive pretraining of an encoder with two noisy views of each sample.

Source: https://github.com/catalyst-team/catalyst/pull/1278
Fault: Both embeddings are computed from the first view, so the positives are trivially equal.
Cause: (same|first|identical|equal).*(view|aug|input|embedding|tensor|twice)
    |(second|other) (view|aug\w*).*(unused|never|not used|ignored)
Place: aug|emb2|view|model
"""

import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(256, 20)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
labels = torch.arange(64)
for epoch in range(25):
    for batch in data[torch.randperm(256)].split(64):
        aug1 = batch + 0.8 * torch.randn_like(batch)
        aug2 = batch + 0.8 * torch.randn_like(batch)
        emb1 = nn.functional.normalize(model(aug1), dim=1)
        emb2 = nn.functional.normalize(model(aug1), dim=1)  # here
        loss = nn.functional.cross_entropy(emb1 @ emb2.t() / 0.2, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    a, b = (model(data + 0.8 * torch.randn_like(data)) for _ in range(2))
    a, b = nn.functional.normalize(a, dim=1), nn.functional.normalize(b, dim=1)
    hit = ((a @ b.t()).argmax(1) == torch.arange(256)).float().mean().item()
print(f"retrieval of the other view {hit:.3f}")
