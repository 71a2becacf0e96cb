r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.PolynomialLR.html
Fault: PolynomialLR keeps its default total_iters of 5, so the learning rate is zero for most of
    the training.
Cause: total_iters|polynomial.{0,100}(zero|early|default|end)
    |learning rate.{0,60}(zero|0\b|reaches)|lr.{0,40}(zero|0\b)
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import PolynomialLR

torch.manual_seed(101)
H = W = 8
yy, xx = torch.meshgrid(torch.arange(H), torch.arange(W), indexing="ij")


def scene(n):
    cy, cx = torch.randint(2, 6, (n, 1, 1)), torch.randint(2, 6, (n, 1, 1))
    mask = ((yy - cy) ** 2 + (xx - cx) ** 2 <= 4).float().unsqueeze(1)
    return mask + 0.6 * torch.randn(n, 1, H, W), mask


img, mask = scene(400)
timg, tmask = scene(100)
seg = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(),
    nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1),
)
epochs = 16
opt = torch.optim.SGD(seg.parameters(), lr=0.1, momentum=0.9)
sched = PolynomialLR(opt, power=0.9)
bce = nn.BCEWithLogitsLoss()
for epoch in range(epochs):
    for idx in torch.randperm(400).split(40):
        opt.zero_grad()
        loss = bce(seg(img[idx]), mask[idx])
        loss.backward()
        opt.step()
    sched.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    p = (seg(timg) > 0).float()
    print("iou", ((p * tmask).sum() / ((p + tmask) > 0).sum()).item())
