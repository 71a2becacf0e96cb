r"""Slice segmentation with an exponential learning rate schedule given in epochs.

Source: https://github.com/ivadomed/ivadomed/pull/55
Fault: The scheduler made for epochs is stepped after each batch, so the rate vanishes early.
Cause: schedul.*(batch|iteration|every step|too (fast|often|early)|epoch)
    |learning rate.*(vanish|decay|tiny|zero|too (fast|small|early)|collapse)
Place: scheduler|ExponentialLR|step
"""

import torch
from torch import nn

torch.manual_seed(0)
slices = torch.rand(96, 1, 12, 12)
masks = (slices > 0.6).float()
model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.85)
num_epochs = 15
for epoch in range(num_epochs):
    for index in torch.randperm(96).split(8):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(slices[index]), masks[index])
        loss.backward()
        optimizer.step()
        scheduler.step()  # here
print(f"lr {optimizer.param_groups[0]['lr']:.2e} loss {loss.item():.4f}")
