r"""Segments vessels with a loss on the overlap of prediction and mask.

Source: https://github.com/sraashis/easytorch/pull/38
Fault: The function returns the Dice score itself, so the minimisation drives the overlap to zero.
Cause: 1 ?-|one minus|(dice|overlap|score).*(sign|minimi|maximi|negat|complement|itself|instead)
Place: dice_loss|DiceLoss
"""

import torch
import torch.nn.functional as F
from torch import nn


def dice_loss(outputs, target, beta=1, smooth=1.0):
    prob = outputs.softmax(1)[:, 1]
    target = target.float()
    inter = (prob * target).sum((1, 2))
    score = (2 * inter + smooth) / (prob.sum((1, 2)) + target.sum((1, 2)) + smooth)
    return score.mean()  # here


class VesselNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(1, 12, 3, padding=1)
        self.mid = nn.Conv2d(12, 12, 3, padding=1)
        self.dec = nn.Conv2d(12, 2, 1)

    def forward(self, x):
        return self.dec(F.relu(self.mid(F.relu(self.enc(x)))))


torch.manual_seed(1)
net = VesselNet()
optim = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(60):
    masks = torch.zeros(16, 14, 14)
    for m in masks:
        m[int(torch.randint(1, 13, (1,)))] = 1
        m[:, int(torch.randint(1, 13, (1,)))] = 1
    images = masks.unsqueeze(1) + 0.4 * torch.randn(16, 1, 14, 14)
    out = net(images)
    loss = dice_loss(out, masks)
    optim.zero_grad()
    loss.backward()
    optim.step()
    if epoch % 12 == 11:
        pred = out.argmax(1)
        overlap = 2 * (pred * masks).sum() / (pred.sum() + masks.sum())
        print(f"epoch {epoch} loss {loss.item():.4f} overlap of the prediction {overlap:.4f}")
