r"""Relief of a coin from one picture: a sheet of points moved by a net, with its roughness.

Source: https://github.com/akanazawa/cmr/issues/11
Fault: The sine of the angle between neighbouring faces is the root of 1 - cos**2, which is zero
    for a flat sheet, and the derivative of the root is infinite there.
Cause: (sqrt|square root|\broot\b|\*\* ?0\.5|sine?\b).{0,100}(zero|\b0\b|negative|nan|inf|eps
    |epsilon|grad|clamp|flat|unsafe)
    |(nan|inf\w*|negative|zero).{0,80}(sqrt|square root|\broot\b)
Place: sqrt|\bsin\b|\bcos\b
"""

import torch
from torch import nn


class Sheet(nn.Module):
    def __init__(self, size):
        super().__init__()
        side = torch.linspace(-1, 1, size)
        y, x = torch.meshgrid(side, side, indexing="ij")
        template = torch.stack([x, y, torch.zeros_like(x)], dim=-1).view(-1, 3)
        self.register_buffer("template", template)
        index = torch.arange(size * size).view(size, size)
        a, b = index[:-1, :-1].flatten(), index[:-1, 1:].flatten()
        c, d = index[1:, :-1].flatten(), index[1:, 1:].flatten()
        self.register_buffer("quads", torch.stack([a, b, c, d], dim=1))

    def roughness(self, points):
        a, b, c, d = points[:, self.quads].unbind(2)
        one = torch.cross(b - a, c - a, dim=-1)
        two = torch.cross(c - d, b - d, dim=-1)
        one = nn.functional.normalize(one, dim=-1)
        two = nn.functional.normalize(two, dim=-1)
        cos = (one * two).sum(-1)
        sin = torch.sqrt(1 - cos.square())  # here
        return torch.atan2(sin, cos).mean(1)


class CoinRelief(nn.Module):
    def __init__(self, size=9):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.LeakyReLU(0.2),
            nn.Conv2d(16, 24, 4, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(24),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Linear(24 * 64, 64),
            nn.LeakyReLU(0.2),
        )
        self.sheet = Sheet(size)
        self.pred_layer = nn.Linear(64, size * size * 3)
        nn.init.normal_(self.pred_layer.weight, std=0.0001)
        nn.init.zeros_(self.pred_layer.bias)

    def forward(self, picture):
        delta = self.pred_layer(self.encoder(picture)).view(len(picture), -1, 3)
        points = self.sheet.template + delta
        return points, self.sheet.roughness(points)


def build():
    return CoinRelief()


def example_inputs():
    return (torch.rand(4, 1, 32, 32),)
