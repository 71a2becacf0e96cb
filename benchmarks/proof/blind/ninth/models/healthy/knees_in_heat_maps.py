r"""Places of landmarks on pictures of knees as the means of heat maps.

Source: https://github.com/anibali/dsntnn
Odd: A softmax over all the cells of a map stands inside the model, and the coordinates run from
    minus to plus one without touching either.
"""

import torch
from torch import nn


def coordinates(length, like):
    return (torch.arange(length, dtype=like.dtype, device=like.device) * 2 - (length - 1)) / length


def dsnt(maps):
    ys, xs = coordinates(maps.size(2), maps), coordinates(maps.size(3), maps)
    x = (maps.sum(2) * xs).sum(-1)
    y = (maps.sum(3) * ys).sum(-1)
    return torch.stack([x, y], -1)


def flat_softmax(maps):
    return maps.flatten(2).softmax(-1).view_as(maps)


def gaussians(means, like, sigma):
    ys, xs = coordinates(like.size(2), like), coordinates(like.size(3), like)
    dy = (ys - means[..., 1:2]).square()
    dx = (xs - means[..., 0:1]).square()
    sigma = 2 * sigma / like.size(3)
    density = torch.exp(-0.5 * (dy[..., :, None] + dx[..., None, :]) / sigma**2)
    return density / density.sum((-1, -2), keepdim=True).clamp(min=1e-24)


def js_divergence(p, q, eps=1e-24):
    middle = 0.5 * (p + q)

    def kl(a, b):
        return (a * ((a + eps).log() - (b + eps).log())).sum((-1, -2))

    return 0.5 * kl(p, middle) + 0.5 * kl(q, middle)


class Knees(nn.Module):
    def __init__(self, landmarks=6, channels=24):
        super().__init__()
        layers, inputs = [], 1
        for dilation in (1, 1, 2, 4):
            layers += [
                nn.Conv2d(inputs, channels, 3, padding=dilation, dilation=dilation, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
            ]
            inputs = channels
        layers.insert(3, nn.MaxPool2d(2))
        self.body = nn.Sequential(*layers)
        self.hm_conv = nn.Conv2d(channels, landmarks, 1, bias=False)

    def forward(self, picture, places):
        maps = flat_softmax(self.hm_conv(self.body(picture)))
        found = dsnt(maps)
        distance = (found - places).square().sum(-1).add(1e-12).sqrt()
        shape = js_divergence(maps, gaussians(places, maps, sigma=1.0))
        return found, (distance + shape).mean()


def build():
    return Knees()


def example_inputs():
    return torch.rand(4, 1, 48, 48), 1.6 * torch.rand(4, 6, 2) - 0.8
