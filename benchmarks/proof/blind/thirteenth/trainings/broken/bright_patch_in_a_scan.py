r"""Finds the box around the bright patch of a scan with a small convolutional net.

Source: https://docs.pytorch.org/docs/stable/data.html
Fault: The data set gives the box as a list of four numbers, and the default collate turns a
    batch of lists into four tensors, one for each number; stacked and viewed as rows of four,
    the numbers of different pictures get into one row and the targets are scrambled.
Cause: collate|transpos|scrambl|(view|reshape).*(mix|wrong|scrambl|instead|order|transpos|perm)
    |(stack|dim(ension)?).*(wrong|1|instead|last|axis)|mixe?s?.*(picture|sample|box)
Place: box|target|stack|view|collate
"""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            w, h = rng.randint(5, 12), rng.randint(5, 12)
            x, y = rng.randint(0, 32 - w), rng.randint(0, 32 - h)
            scan = 0.3 * torch.randn(1, 32, 32, generator=g)
            scan[0, y:y + h, x:x + w] += 1.0
            self.items.append((scan, [x / 32, y / 32, (x + w) / 32, (y + h) / 32]))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class BoxNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
        )
        self.box = nn.Sequential(nn.Linear(16 * 64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, scan):
        return torch.sigmoid(self.box(self.features(scan)))


def overlap(a, b):
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    inner = (high - low).clamp(min=0).prod(1)
    area = (a[:, 2:] - a[:, :2]).clamp(min=0).prod(1) + (b[:, 2:] - b[:, :2]).prod(1)
    return inner / (area - inner)


def main():
    torch.manual_seed(13)
    loader = DataLoader(Scans(750, 1), batch_size=30, shuffle=True)
    test = Scans(200, 2)
    model = BoxNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(12):
        total = 0.0
        for scan, box in loader:
            target = torch.stack(box).view(-1, 4).float()  # here
            loss = nn.functional.smooth_l1_loss(model(scan), target, beta=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
    scans = torch.stack([scan for scan, _ in test.items])
    boxes = torch.tensor([box for _, box in test.items])
    with torch.no_grad():
        print(f"mean overlap: {overlap(model(scans), boxes).mean().item():.3f}")


main()
