r"""Small mobile segmentation net that cuts hair out of rendered portraits, trained by overlap.

Source: https://github.com/akirasosa/mobile-semantic-segmentation/issues/24
Fault: the loss function gives back the dice coefficient itself, which is largest when the masks
    agree, and the training minimises it: the net learns to miss the hair. One minus it is meant.
Cause: (1 ?-|one minus|minus|\bsign\b|negat(e|ed|ion|ing)\b|flip|invert|opposite|wrong (way
    |direction)|maximi[sz])|dice.{0,100}(coefficient|score|overlap|similarity).{0,80}(minimi[sz]
    |lower|decreas|loss)|(minimi[sz]\w*|lowers?|decreas\w*).{0,80}(dice|overlap|intersection
    |similarity|agreement)|(falls?|decreas\w*|lower|smaller|drops?).{0,60}(overlap|dice|agree
    |intersection)|(overlap|dice).{0,60}(itself|falls|decreas|rewarded|punish|wrong)
    |best when.{0,60}(differ|apart|no overlap|disagree)
Place: dice_loss|dice_coef|loss|criterion|smooth
"""
import argparse
import logging

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
logger = logging.getLogger("hair")
torch.manual_seed(4)
np.random.seed(4)


class MaskDataset(Dataset):
    def __init__(self, n, size=24):
        self.img = np.zeros((n, 3, size, size), dtype=np.float32)
        self.mask = np.zeros((n, 1, size, size), dtype=np.float32)
        yy, xx = np.mgrid[0:size, 0:size]
        for i in range(n):
            cy, cx = np.random.uniform(11, 15), np.random.uniform(9, 15)
            r = np.random.uniform(5, 7)
            head = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
            hair = ((yy - cy + 2) ** 2 + (xx - cx) ** 2 < (r + 2) ** 2) & ~(head & (yy > cy - 1))
            tone, dark = np.random.uniform(0.6, 0.9), np.random.uniform(0.0, 0.35)
            back = np.random.uniform(0.45, 1.0, 3)
            for c in range(3):
                self.img[i, c] = back[c]
                self.img[i, c][head] = tone - 0.1 * c
                self.img[i, c][hair] = dark
            self.mask[i, 0] = hair
        self.img += 0.05 * np.random.randn(*self.img.shape).astype(np.float32)

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return torch.from_numpy(self.img[i]), torch.from_numpy(self.mask[i])


class DepthwiseBlock(nn.Module):
    def __init__(self, inp, oup, stride):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(inp, inp, 3, stride, 1, groups=inp, bias=False), nn.BatchNorm2d(inp),
            nn.ReLU6(inplace=True),
            nn.Conv2d(inp, oup, 1, bias=False), nn.BatchNorm2d(oup), nn.ReLU6(inplace=True))

    def forward(self, x):
        return self.conv(x)


class MobileUnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU6(inplace=True))
        self.down1 = DepthwiseBlock(12, 24, 2)
        self.down2 = DepthwiseBlock(24, 48, 2)
        self.up1 = nn.ConvTranspose2d(48, 24, 2, stride=2)
        self.merge1 = DepthwiseBlock(48, 24, 1)
        self.up2 = nn.ConvTranspose2d(24, 12, 2, stride=2)
        self.merge2 = DepthwiseBlock(24, 12, 1)
        self.last = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        x1 = self.stem(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.merge1(torch.cat([x2, self.up1(x3)], dim=1))
        x = self.merge2(torch.cat([x1, self.up2(x)], dim=1))
        return torch.sigmoid(self.last(x))


def dice_loss(scale=None):
    def fn(input, target):
        smooth = 1.

        if scale is not None:
            scaled = F.interpolate(input, scale_factor=scale, mode="bilinear")
            iflat = scaled.view(-1)
        else:
            iflat = input.view(-1)

        tflat = target.view(-1)
        intersection = (iflat * tflat).sum()

        return ((2. * intersection + smooth) /
                (iflat.sum() + tflat.sum() + smooth))  # here

    return fn


def iou(outputs, labels):
    pred = outputs > 0.5
    labels = labels > 0.5
    inter = (pred & labels).float().sum((1, 2, 3))
    union = (pred | labels).float().sum((1, 2, 3))
    return ((inter + 1e-6) / (union + 1e-6)).mean().item()


def run_cv(args):
    model = MobileUnet()
    criterion = dice_loss()
    optimizer = Adam(model.parameters(), lr=args.lr)
    train_loader = DataLoader(MaskDataset(400), batch_size=20, shuffle=True)
    valid_loader = DataLoader(MaskDataset(100), batch_size=50)
    for epoch in range(args.epochs):
        model.train()
        train_loss = []
        for inputs, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            train_loss.append(loss.item())
        model.eval()
        with torch.no_grad():
            scores = [iou(model(x), y) for x, y in valid_loader]
        logger.info("epoch %d loss %.4f valid IoU %.4f", epoch, np.mean(train_loss),
                    np.mean(scores))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    run_cv(parser.parse_args())
