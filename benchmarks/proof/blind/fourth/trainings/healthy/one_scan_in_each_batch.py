r"""Segmentation of scans one at a time, with group normalisation.

Source: https://github.com/wolny/pytorch-3dunet/issues/53
Odd: Each batch has one sample; the loss jumps from scan to scan. Nothing depends on the mode.
"""

import torch
from torch import nn

torch.manual_seed(0)
grid = torch.stack(torch.meshgrid(*[torch.linspace(-1, 1, 8)] * 3, indexing="ij"))
centre, radius = torch.rand(50, 3, 1, 1, 1) - 0.5, torch.rand(50, 1, 1, 1) * 0.3 + 0.4
masks = ((grid - centre).norm(dim=1) < radius).float()[:, None]
scans = masks + 0.3 * torch.randn_like(masks)
net = nn.Sequential(
    nn.Conv3d(1, 8, 3, padding=1),
    nn.GroupNorm(2, 8),
    nn.ReLU(),
    nn.Conv3d(8, 8, 3, padding=1),
    nn.GroupNorm(2, 8),
    nn.ReLU(),
    nn.Conv3d(8, 1, 1),
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step, i in enumerate(torch.randperm(50)):
    logits = net(scans[i : i + 1])
    p, y = torch.sigmoid(logits), masks[i : i + 1]
    dice = 1 - 2 * (p * y).sum() / (p.square().sum() + y.square().sum()).clamp(min=1e-6)
    loss = dice + nn.functional.binary_cross_entropy_with_logits(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.3f}")
print(f"accuracy {((net(scans) > 0) == (masks > 0)).float().mean().item():.3f}")
