r"""Binary segmentation of round lesions in simulated slices with a U-shaped net of two depths.

Source: http://www.dtcms.com/a/394596.html
Fault: the last layer ends with a ReLU but BCEWithLogitsLoss needs logits of either sign; no output
    can be below zero, so the background can't get a probability below one half, and the loss
    stays close to 0.693.
Cause: (relu|clamp|non.?negative|negative (values?|logits?|outputs?)|below zero|>= ?0
    |positive only|never negative).{0,140}(logit|output|last|final|BCE|sigmoid|head|loss)|(logit
    |output|last|final|head|BCE\w*).{0,140}(relu|non.?negative|negative|below zero|below (one half
    |0\.5))
Place: outc|final|relu|last|forward|OutConv
"""
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

np.random.seed(2)
torch.manual_seed(2)


class SliceDataset(Dataset):
    def __init__(self, n, size=32):
        yy, xx = np.mgrid[0:size, 0:size]
        self.images, self.masks = [], []
        for _ in range(n):
            img = 0.3 + 0.1 * np.random.randn(size, size)
            body = ((yy - 16) / 14.0) ** 2 + ((xx - 16) / 12.0) ** 2 < 1
            img[body] += 0.3
            mask = np.zeros((size, size))
            for _ in range(np.random.randint(1, 3)):
                cy, cx = np.random.uniform(9, 23, 2)
                r = np.random.uniform(2.5, 4.5)
                mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2] = 1
            img[mask > 0] += 0.35
            self.images.append(img[None].astype(np.float32))
            self.masks.append(mask[None].astype(np.float32))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return torch.from_numpy(self.images[idx]), torch.from_numpy(self.masks[idx])


class ConvBNReLU(nn.Module):
    def __init__(self, in_ch, out_ch, kernel_size=3):
        super().__init__()
        self.conv = nn.Conv2d(in_ch, out_ch, kernel_size, padding=kernel_size // 2)
        self.norm = nn.BatchNorm2d(out_ch)
        self.activation = nn.ReLU()

    def forward(self, x):
        out = self.conv(x)
        out = self.norm(out)
        return self.activation(out)


class DownBlock(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.maxpool = nn.MaxPool2d(2)
        self.nConvs = nn.Sequential(ConvBNReLU(in_ch, out_ch), ConvBNReLU(out_ch, out_ch))

    def forward(self, x):
        return self.nConvs(self.maxpool(x))


class UpBlock(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2)
        self.nConvs = nn.Sequential(ConvBNReLU(in_ch, out_ch), ConvBNReLU(out_ch, out_ch))

    def forward(self, x, skip_x):
        out = torch.cat([skip_x, self.up(x)], dim=1)
        return self.nConvs(out)


class UCNet(nn.Module):
    def __init__(self, n_channels=1, n_classes=1, base=12):
        super().__init__()
        self.inc = ConvBNReLU(n_channels, base)
        self.down1 = DownBlock(base, base * 2)
        self.down2 = DownBlock(base * 2, base * 4)
        self.up2 = UpBlock(base * 6, base * 2)
        self.up1 = UpBlock(base * 3, base)
        self.outc = nn.Sequential(
            nn.Conv2d(base, n_classes, kernel_size=1),
            nn.ReLU(),  # here
        )

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up2(x3, x2)
        x = self.up1(x, x1)
        return self.outc(x)


def dice_iou(logits, y):
    pred = (torch.sigmoid(logits) > 0.5).float()
    inter = (pred * y).sum()
    dice = (2 * inter + 1e-6) / (pred.sum() + y.sum() + 1e-6)
    iou = (inter + 1e-6) / (pred.sum() + y.sum() - inter + 1e-6)
    return dice.item(), iou.item()


def train(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        outputs = model(x)
        loss = criterion(outputs, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def validate(model, loader, criterion):
    model.eval()
    losses, dices, ious = [], [], []
    for x, y in loader:
        outputs = model(x)
        losses.append(criterion(outputs, y).item())
        d, i = dice_iou(outputs, y)
        dices.append(d)
        ious.append(i)
    return np.mean(losses), np.mean(dices), np.mean(ious)


if __name__ == "__main__":
    train_loader = DataLoader(SliceDataset(160), batch_size=8, shuffle=True)
    val_loader = DataLoader(SliceDataset(40), batch_size=20)
    model = UCNet()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 6):
        tl = train(model, train_loader, criterion, optimizer)
        vl, dice, iou = validate(model, val_loader, criterion)
        print(f"epoch {epoch} train loss {tl:.4f} val loss {vl:.4f} dice {dice:.4f} iou {iou:.4f}")
