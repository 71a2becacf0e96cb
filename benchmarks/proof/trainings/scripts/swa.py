"""Stochastic weight averaging: AveragedModel, SWALR and update_bn."""

import json

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(27)
centers = 2 * torch.randn(4, 8)
labels = torch.randint(4, (640,))
loader = [
    (centers[y] + torch.randn(32, 8), y) for y in labels.split(32)
]  # fmt: skip
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
swa_model = AveragedModel(model)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)
swa_start = 5
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
losses = []
for epoch in range(8):
    for input, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(input), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch > swa_start:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    print(epoch, losses[-1])
update_bn(loader, swa_model)
swa_model.eval()
with torch.no_grad():
    print("swa", nn.functional.cross_entropy(swa_model(loader[0][0]), loader[0][1]).item())
print("TRUTH", json.dumps({"model": ["SGD", 160, losses[0], losses[-1]]}))
