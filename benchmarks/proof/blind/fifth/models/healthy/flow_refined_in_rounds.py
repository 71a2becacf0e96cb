r"""Optical flow that is refined in a few rounds with look-ups of correlation.

Source: https://github.com/princeton-vl/RAFT/blob/master/core/raft.py
Odd: The flow is detached at the start of each round; each round is trained by its own output.
"""

import torch
from torch import nn
from torch.nn import functional as F


def coords_grid(batch, h, w):
    y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    return torch.stack([x, y]).float().expand(batch, -1, -1, -1)


class ConvGRU(nn.Module):
    def __init__(self, hidden, n_in):
        super().__init__()
        self.convz = nn.Conv2d(hidden + n_in, hidden, 3, padding=1)
        self.convr = nn.Conv2d(hidden + n_in, hidden, 3, padding=1)
        self.convq = nn.Conv2d(hidden + n_in, hidden, 3, padding=1)

    def forward(self, h, x):
        hx = torch.cat([h, x], dim=1)
        z, r = torch.sigmoid(self.convz(hx)), torch.sigmoid(self.convr(hx))
        q = torch.tanh(self.convq(torch.cat([r * h, x], dim=1)))
        return (1 - z) * h + z * q


class RAFT(nn.Module):
    def __init__(self, dim=16, hidden=16, rounds=3):
        super().__init__()
        self.rounds = rounds
        self.fnet = nn.Sequential(
            nn.Conv2d(1, dim, 3, 2, 1), nn.ReLU(), nn.Conv2d(dim, dim, 3, 1, 1)
        )
        self.cnet = nn.Sequential(
            nn.Conv2d(1, hidden, 3, 2, 1), nn.ReLU(), nn.Conv2d(hidden, hidden, 3, 1, 1)
        )
        self.gru = ConvGRU(hidden, 3)
        self.flow_head = nn.Conv2d(hidden, 2, 3, padding=1)

    def lookup(self, f1, f2, coords):
        h, w = f2.shape[-2:]
        size = torch.tensor([w - 1, h - 1]).view(1, 2, 1, 1)
        grid = (2 * coords / size - 1).permute(0, 2, 3, 1)
        sampled = F.grid_sample(f2, grid, align_corners=True)
        return (f1 * sampled).mean(dim=1, keepdim=True)

    def forward(self, image1, image2):
        f1, f2 = self.fnet(image1), self.fnet(image2)
        net = torch.tanh(self.cnet(image1))
        coords0 = coords_grid(f1.size(0), *f1.shape[-2:])
        coords1 = coords0.clone()
        predictions = []
        for _ in range(self.rounds):
            coords1 = coords1.detach()
            corr = self.lookup(f1, f2, coords1)
            net = self.gru(net, torch.cat([corr, coords1 - coords0], dim=1))
            coords1 = coords1 + self.flow_head(net)
            predictions.append(coords1 - coords0)
        return torch.stack(predictions)


def build():
    return RAFT()


def example_inputs():
    return torch.rand(3, 1, 16, 16), torch.rand(3, 1, 16, 16)
