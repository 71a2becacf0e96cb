r"""Segmentation of the drivable area and of lane lines with random tilts of image and label.

Source: https://github.com/datvuthanh/HybridNets/issues/54
Fault: the label map is warped with bilinear interpolation like the image, so class numbers are
    blended: at each border of class 2 with class 0 there come pixels of class 1, which are not
    lane lines; nearest is needed for labels.
Cause: (interpolat\w*|bilinear|blend\w*|nearest|resampl\w*|warp\w*).{0,160}(label|mask|class
    |target|seg\w*|categor|ids?\b|nearest)|(label|mask|class (ids?|numbers?|indices)|targets?
    |seg\w*).{0,140}(interpolat|bilinear|blend|nearest|in.?between|averag|fraction)
Place: random_perspective|seg\w*|grid_sample|mode|label
"""
import math
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)

SEG_LIST = ["background", "lane", "road"]
SIZE = 40


def random_perspective(img, seg, degrees=12, translate=0.15, scale=0.25):
    a = random.uniform(-degrees, degrees) * math.pi / 180
    s = random.uniform(1 - scale, 1 + scale)
    tx, ty = random.uniform(-translate, translate), random.uniform(-translate, translate)
    M = torch.tensor([[[s * math.cos(a), -s * math.sin(a), tx],
                       [s * math.sin(a), s * math.cos(a), ty]]])
    grid = F.affine_grid(M, (1, 1, SIZE, SIZE), align_corners=False)
    img = F.grid_sample(img[None], grid, mode="bilinear", align_corners=False)[0]
    seg = F.grid_sample(seg[None, None].float(), grid, mode="bilinear",  # here
                        align_corners=False)[0, 0]
    return img, seg.round().long()


class RoadDataset(Dataset):
    def __init__(self, n, is_train):
        self.is_train = is_train
        self.db = []
        for _ in range(n):
            img = np.full((3, SIZE, SIZE), 0.7, dtype=np.float32)
            seg = np.zeros((SIZE, SIZE), dtype=np.int64)
            mid, bend = np.random.uniform(15, 25), np.random.uniform(-0.3, 0.3)
            for y in range(SIZE // 3, SIZE):
                half = 3 + 0.45 * (y - SIZE // 3)
                c = mid + bend * (y - SIZE)
                lo, hi = int(max(c - half, 0)), int(min(c + half, SIZE))
                seg[y, lo:hi] = 2
                img[:, y, lo:hi] = 0.4
                m = int(min(max(c, 1), SIZE - 2))
                if (y // 4) % 2 == 0:
                    seg[y, m - 1:m + 1] = 1
                    img[:, y, m - 1:m + 1] = 0.9
            img[2, :SIZE // 3] += 0.2
            img += 0.06 * np.random.randn(*img.shape).astype(np.float32)
            self.db.append((torch.from_numpy(img), torch.from_numpy(seg)))

    def __len__(self):
        return len(self.db)

    def __getitem__(self, idx):
        img, seg = self.db[idx]
        if self.is_train:
            img, seg = random_perspective(img, seg)
        return img, seg


class SegHead(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        def block(i, o, stride=1):
            return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o),
                                 nn.SiLU())
        self.p1 = block(3, 12)
        self.p2 = block(12, 24, 2)
        self.p3 = block(24, 48, 2)
        self.lat = nn.Conv2d(48, 24, 1)
        self.lat2 = nn.Conv2d(24, 12, 1)
        self.fuse = block(24, 24)
        self.head = nn.Sequential(block(12, 12), nn.Conv2d(12, num_classes, 1))

    def forward(self, x):
        p1 = self.p1(x)
        p2 = self.p2(p1)
        p3 = self.p3(p2)
        up = F.interpolate(self.lat(p3), scale_factor=2, mode="nearest")
        p2 = self.fuse(p2 + up)
        up = F.interpolate(self.lat2(p2), scale_factor=2, mode="nearest")
        return self.head(p1 + up)


def val(model, loader):
    model.eval()
    inter, union = np.zeros(3), np.zeros(3)
    with torch.no_grad():
        for imgs, seg in loader:
            pred = model(imgs).argmax(1)
            for c in range(3):
                inter[c] += ((pred == c) & (seg == c)).sum().item()
                union[c] += ((pred == c) | (seg == c)).sum().item()
    return inter / union


def main():
    train_loader = DataLoader(RoadDataset(200, True), batch_size=12, shuffle=True)
    val_loader = DataLoader(RoadDataset(60, False), batch_size=30)
    model = SegHead(len(SEG_LIST))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(7):
        model.train()
        total = 0.0
        for imgs, seg in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(imgs), seg)
            loss.backward()
            optimizer.step()
            total += loss.item()
        iou = val(model, val_loader)
        print("Epoch %d seg loss %.4f " % (epoch, total / len(train_loader))
              + " ".join("%s IoU %.3f" % (n, v) for n, v in zip(SEG_LIST, iou)))


if __name__ == "__main__":
    main()
