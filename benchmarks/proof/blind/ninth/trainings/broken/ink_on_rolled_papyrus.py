r"""Ink on slices of a papyrus, marked pixel by pixel with a single channel.

Source: https://github.com/ScrollPrize/villa/pull/1455
Fault: In the validation the raw logits of the single channel are compared with the class numbers
    0 and 1 instead of being thresholded, so IoU and Dice are near 0 however good the net is.
Cause: (logit|raw|score|continuous|float).{0,120}(compar|equal|==|threshold|class number|class id
    |round|binar|sigmoid)|(not|never|without|missing|no).{0,40}(threshold|binari)
    |threshold.{0,40}(missing|before|instead|first)|pred.{0,40}==
Place: compute_iou_dice|pred|logits|predicted|outputs?|threshold|sigmoid|validate
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(141)
SIDE = 24


def slices(count):
    """Strokes of ink that are a little darker than the fibres."""
    ink = F.avg_pool2d(torch.randn(count, 1, SIDE, SIDE), 5, stride=1, padding=2) > 0.16
    fibre = torch.sin(torch.arange(SIDE) * 1.3)[:, None] * 0.4
    scan = fibre + 0.5 * torch.randn(count, 1, SIDE, SIDE) - 0.8 * ink.float()
    return scan, ink.float()


def compute_iou_dice(pred, gold, smooth=1e-6):
    pred, gold = pred.squeeze(1), gold.squeeze(1)
    ious, dices = [], []
    for number in range(2):
        p, g = pred == number, gold == number  # here
        inner = (p & g).sum().float()
        ious.append((inner + smooth) / ((p | g).sum() + smooth))
        dices.append((2 * inner + smooth) / (p.sum() + g.sum() + smooth))
    return torch.stack(ious).mean().item(), torch.stack(dices).mean().item()


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.GroupNorm(4, width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=2, dilation=2),
            nn.GroupNorm(4, width),
            nn.ReLU(),
        )
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, scan):
        return self.head(self.encode(scan))


train_scan, train_ink = slices(200)
val_scan, val_ink = slices(60)
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(12):
    net.train()
    running = 0.0
    for rows in torch.randperm(len(train_scan)).split(20):
        loss = criterion(net(train_scan[rows]), train_ink[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 3 == 2:
        net.eval()
        with torch.no_grad():
            outputs = net(val_scan)
            val_loss = criterion(outputs, val_ink).item()
            iou, dice = compute_iou_dice(outputs, val_ink)
        print(
            f"epoch {epoch + 1} loss {running / 10:.4f} "
            f"validation loss {val_loss:.4f} IoU {iou:.4f} Dice {dice:.4f}"
        )
