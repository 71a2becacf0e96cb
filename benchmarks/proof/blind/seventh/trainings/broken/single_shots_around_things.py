r"""Places and kinds of things in one shot, trained with one picture per step.

Source: https://github.com/amdegroot/ssd.pytorch/issues/275
Fault: The learning rate was meant for large batches and is far too high for single pictures.
Cause: learning rate.{0,80}(large|high|big|huge|too|batch)|\blr\b.{0,60}(large|high|big|huge|too)
    |(update|step)s?.{0,60}(large|huge|big|ratio|size of)
    |(lower|reduce|smaller).{0,30}(learning rate|\blr\b)|diverg\w*.{0,80}(rate|\blr\b)
    |batch.?size.{0,40}(1\b|one|small)
Place: \blr\b|learning.?rate|batch_size|args
"""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser(description="Single shot detector")
parser.add_argument("--batch_size", default=1, type=int)
parser.add_argument("--lr", "--learning-rate", default=0.03, type=float)  # here
parser.add_argument("--momentum", default=0.9, type=float)
parser.add_argument("--weight_decay", default=5e-4, type=float)
parser.add_argument("--max_iter", default=400, type=int)
args = parser.parse_args([])
torch.manual_seed(65)


class Things(Dataset):
    def __init__(self, count, side=16):
        self.images = 0.2 * torch.randn(count, 1, side, side)
        self.kind = torch.randint(0, 3, (count,))
        self.box = torch.stack(
            [torch.randint(4, side - 4, (count,)), torch.randint(4, side - 4, (count,))], 1
        ).float()
        grid = torch.arange(side).float()
        for image, kind, (cy, cx) in zip(self.images, self.kind.tolist(), self.box.tolist()):
            dy, dx = (grid - cy).abs()[:, None], (grid - cx).abs()[None]
            form = (torch.maximum(dy, dx), dy + dx, torch.minimum(dy, dx) + 0.4 * (dy + dx))[kind]
            image[0] += (form < 3).float()
        self.box = self.box / side

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return self.images[i], self.box[i], self.kind[i]


class Ssd(nn.Module):
    def __init__(self):
        super().__init__()
        self.vgg = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(24 * 16, 64),
            nn.ReLU(),
        )
        self.loc, self.conf = nn.Linear(64, 2), nn.Linear(64, 3)

    def forward(self, x):
        h = self.vgg(x)
        return self.loc(h), self.conf(h)


loader = DataLoader(Things(400), batch_size=args.batch_size, shuffle=True)
test = Things(200)
net = Ssd()
optimizer = torch.optim.SGD(
    net.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay
)
for iteration, (images, boxes, kinds) in enumerate(loader):
    loc, conf = net(images)
    loss_l, loss_c = F.smooth_l1_loss(loc, boxes, reduction="sum"), F.cross_entropy(conf, kinds)
    loss = loss_l + loss_c
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 50 == 49:
        with torch.no_grad():
            loc, conf = net(test.images)
        right = (conf.argmax(1) == test.kind).float().mean().item()
        off = (loc - test.box).norm(dim=1).mean().item()
        print(f"iter {iteration + 1} || Loss: {loss.item():.4f} || kinds {right:.3f} off {off:.3f}")
