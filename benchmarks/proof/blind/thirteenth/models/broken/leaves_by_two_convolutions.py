r"""Tells leaves apart in small grey pictures with two convolutions and batch norm.

Source: https://github.com/kanezaki/pytorch-unsupervised-segmentation/issues/1
Fault: one batch norm is used after both convolutions; its running statistics mix two unlike
    layers, so in evaluation mode both are scaled wrongly.
Cause: (batch ?norm|norm).{0,120}(shared|share|reused|re-?use|twice|two|both|same|several)
    |(shared|same|one|single).{0,30}norm.{0,80}(two|both|twice|several|different)
    |running (mean|var|stat).{0,100}(mix|two|both|different layers|twice)
Place: norm
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE, KINDS = 16, 4


class LeafNet(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.head = nn.Linear(channels, KINDS)

    def forward(self, picture, kind=None):
        h = F.relu(self.norm(self.conv1(picture)))
        h = F.max_pool2d(h, 2)
        h = F.relu(self.norm(self.conv2(h)))  # here
        scores = self.head(h.mean((2, 3)))
        if kind is None:
            return scores
        return F.cross_entropy(scores, kind)


def make_leaves(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, KINDS, (n,), generator=g)
    grid = torch.linspace(-1, 1, SIDE)
    y, x = torch.meshgrid(grid, grid, indexing="ij")
    wide = torch.tensor([0.3, 0.6, 0.3, 0.6])[kind].view(-1, 1, 1)
    ribs = torch.tensor([4.0, 4.0, 12.0, 12.0])[kind].view(-1, 1, 1)
    shape = ((x / wide) ** 2 + (y / 0.9) ** 2 < 1).float()
    picture = 3 + shape * (2 + torch.sin(ribs * (y + 0.2 * torch.rand(n, 1, 1, generator=g))))
    return (picture + 0.2 * torch.randn(n, SIDE, SIDE, generator=g)).unsqueeze(1), kind


def build():
    torch.manual_seed(0)
    return LeafNet()


def example_inputs():
    return make_leaves(64, seed=64)
