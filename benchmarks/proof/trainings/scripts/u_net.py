"""Segmentation with a U-Net, RMSprop, a dice loss and a deep supervision head in training only."""

import json
import logging

import torch
import torch.nn.functional as F
from torch import nn, optim


class DoubleConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
            nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
        )  # fmt: skip

    def forward(self, x):
        return self.double_conv(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc, self.down = DoubleConv(1, 8), DoubleConv(8, 16)
        self.up, self.conv = nn.ConvTranspose2d(16, 8, 2, 2), DoubleConv(16, 8)
        self.outc, self.aux = nn.Conv2d(8, 1, 1), nn.Conv2d(16, 1, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down(F.max_pool2d(x1, 2))
        logits = self.outc(self.conv(torch.cat([x1, self.up(x2)], 1)))
        if self.training:
            return logits, F.interpolate(self.aux(x2), scale_factor=2)
        return logits


def dice_loss(probability, target):
    inter = 2 * (probability * target).sum((-1, -2))
    sets = probability.sum((-1, -2)) + target.sum((-1, -2))
    return 1 - ((inter + 1) / (sets + 1)).mean()


def batch(count=8):
    low = torch.randint(0, 8, (count, 2))
    grid = torch.arange(16)
    rows = (grid[None] >= low[:, :1]) & (grid[None] < low[:, :1] + 8)
    columns = (grid[None] >= low[:, 1:]) & (grid[None] < low[:, 1:] + 8)
    mask = (rows[:, :, None] & columns[:, None]).float()[:, None]
    return mask + 0.3 * torch.randn_like(mask), mask


def train_net(net, epochs=4, lr=1e-3):
    optimizer = optim.RMSprop(net.parameters(), lr=lr, weight_decay=1e-8, momentum=0.9)
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=2)
    criterion, history = nn.BCEWithLogitsLoss(), []
    for epoch in range(epochs):
        net.train()
        for _ in range(15):
            images, true_masks = batch()
            pred, aux = net(images)
            loss = criterion(pred, true_masks) + dice_loss(torch.sigmoid(pred), true_masks)
            loss = loss + 0.4 * criterion(aux, true_masks)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            history.append(loss.item())
        net.eval()
        with torch.no_grad():
            images, true_masks = batch()
            score = 1 - dice_loss(torch.sigmoid(net(images)), true_masks)
        scheduler.step(score)
        logging.warning("epoch %d dice %.3f", epoch, score)
    return history


if __name__ == "__main__":
    torch.manual_seed(49)
    net = UNet()
    h = train_net(net)
    print("TRUTH", json.dumps({"net": ["RMSprop", 60, h[0], h[-1]]}))
