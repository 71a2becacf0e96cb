"""Metric learning with parts: the model of the pairs, and its encoder for an anchor, in a step."""

import json

import torch
from torch import nn

torch.manual_seed(9)


class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.projector = nn.Linear(32, 4)

    def forward(self, x):
        return nn.functional.normalize(self.projector(self.encoder(x)), dim=1)


model = Matcher()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
centers = 2 * torch.randn(4, 8)
losses = []
for step in range(120):
    label = torch.randint(4, (32,))
    other = (label + torch.randint(1, 4, (32,))) % 4
    anchor = model(centers[label] + 0.5 * torch.randn(32, 8))
    positive = model(centers[label] + 0.5 * torch.randn(32, 8))
    code = model.encoder(centers[other] + 0.5 * torch.randn(32, 8))
    negative = nn.functional.normalize(model.projector(code), dim=1)
    loss = nn.functional.triplet_margin_loss(anchor, positive, negative, margin=0.5)
    loss = loss + 1e-3 * code.square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 30 == 0:
        print(f"step {step}: {losses[-1]:.4f}")
print("TRUTH", json.dumps({"model": ["SGD", 120, losses[0], losses[-1]]}))
