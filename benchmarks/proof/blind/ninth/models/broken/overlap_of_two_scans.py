r"""Features of two scans whose superpoints look at near points and at the other scan.

Source: https://github.com/prs-eth/OverlapPredator/pull/14
Fault: The features are repeated along a new last axis, so the neighbour indices along the third
    axis pick the same feature of the point itself, and no neighbour's, each time.
Cause: (repeat\w*|unsqueeze\w*|expand\w*|axis|dim\w*).{0,140}(wrong|last|-1|itself|own
    |gather\w*|neighbou?r\w*|transpos\w*|index\w*)|neighbou?rs?.{0,120}(never|not|own|itself
    |same|ignor\w*|zero|equal\w*|lost|wrong|no )|(gather\w*|pick\w*|select\w*
    |index\w*).{0,100}(own|itself|same|centre|center|wrong)|difference.{0,60}(zero|vanish\w*)
Place: all_feats|unsqueeze|repeat|get_graph_feature|gather|neigh\w*
"""

import torch
import torch.nn.functional as F
from torch import nn


def square_distance(a, b):
    return torch.cdist(a, b).square()


def get_graph_feature(coords, feats, k):
    _b, c, n = feats.shape
    near = square_distance(coords.transpose(1, 2), coords.transpose(1, 2))
    index = near.topk(k + 1, dim=-1, largest=False, sorted=True)[1][:, :, 1:]
    index = index.unsqueeze(1).repeat(1, c, 1, 1)
    all_feats = feats.unsqueeze(-1).repeat(1, 1, 1, n)  # here
    neighbours = torch.gather(all_feats, dim=-1, index=index)
    feats = feats.unsqueeze(-1).repeat(1, 1, 1, k)
    return torch.cat([feats, neighbours - feats], 1)


class SelfAttention(nn.Module):
    def __init__(self, size, k=6):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv2d(2 * size, size, 1, bias=False)
        self.conv2 = nn.Conv2d(2 * size, 2 * size, 1, bias=False)
        self.conv3 = nn.Conv2d(4 * size, size, 1, bias=False)
        self.in1, self.in2 = nn.InstanceNorm2d(size), nn.InstanceNorm2d(2 * size)
        self.in3 = nn.InstanceNorm2d(size)

    def forward(self, coords, feats):
        x0 = feats.unsqueeze(-1)
        x1 = get_graph_feature(coords, feats, self.k)
        x1 = F.leaky_relu(self.in1(self.conv1(x1)), 0.2).max(-1, keepdim=True)[0]
        x2 = get_graph_feature(coords, x1.squeeze(-1), self.k)
        x2 = F.leaky_relu(self.in2(self.conv2(x2)), 0.2).max(-1, keepdim=True)[0]
        x3 = torch.cat([x0, x1, x2], 1)
        return F.leaky_relu(self.in3(self.conv3(x3)), 0.2).squeeze(-1)


class CrossAttention(nn.Module):
    def __init__(self, size, heads=4):
        super().__init__()
        self.attention = nn.MultiheadAttention(size, heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(2 * size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size)
        )

    def forward(self, x, other):
        x, other = x.transpose(1, 2), other.transpose(1, 2)
        message = self.attention(x, other, other, need_weights=False)[0]
        return self.mlp(torch.cat([x, message], 2)).transpose(1, 2)


class Overlap(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.first, self.last = SelfAttention(size), SelfAttention(size)
        self.cross = CrossAttention(size)
        self.score = nn.Conv1d(size, 1, 1)

    def forward(self, coords0, coords1, feats0, feats1):
        feats0, feats1 = self.first(coords0, feats0), self.first(coords1, feats1)
        new0 = feats0 + self.cross(feats0, feats1)
        new1 = feats1 + self.cross(feats1, feats0)
        new0, new1 = self.last(coords0, new0), self.last(coords1, new1)
        return self.score(new0).sigmoid(), self.score(new1).sigmoid()


def build():
    return Overlap()


def example_inputs():
    return (
        torch.rand(2, 3, 40), torch.rand(2, 3, 40), torch.randn(2, 32, 40), torch.randn(2, 32, 40)
    )  # fmt: skip
