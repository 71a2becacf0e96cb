r"""A regression of boxes where each side comes with a deviation, after Gaussian YOLO.

Source: https://github.com/jwchoi384/Gaussian_YOLOv3/issues/19
Healthy: the loss goes below zero when the boxes are good, because a density may be greater than
    one; centres and variances come through a sigmoid, which keeps the variances under one.
"""
import math

import torch
from torch import nn


def conv(in_c, out_c, stride=2):
    return nn.Sequential(
        nn.Conv2d(in_c, out_c, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(out_c),
        nn.LeakyReLU(0.1),
    )


def gaussian_nll(target, mu, sigma, sigma_const=0.05, eps=1e-9):
    """the density of the target, with a floor for the variance"""
    var = sigma + sigma_const ** 2
    density = torch.exp(-0.5 * (target - mu) ** 2 / var) / torch.sqrt(2 * math.pi * var)
    return -torch.log(density + eps)


class GaussianBoxNet(nn.Module):
    def __init__(self, width=16, classes=2):
        super(GaussianBoxNet, self).__init__()
        self.classes = classes
        self.body = nn.Sequential(
            conv(1, width), conv(width, 2 * width), conv(2 * width, 2 * width))
        self.neck = nn.Sequential(nn.Flatten(), nn.Linear(2 * width * 16, 64), nn.LeakyReLU(0.1))
        # four means, four variances, the classes
        self.detection = nn.Linear(64, 8 + classes)
        self._init()

    def _init(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, a=0.1)
        nn.init.normal_(self.detection.weight, std=0.01)
        nn.init.zeros_(self.detection.bias)

    def raw(self, x):
        out = self.detection(self.neck(self.body(x)))
        mu = torch.sigmoid(out[:, 0:4])
        sigma = torch.sigmoid(out[:, 4:8])
        return mu, sigma, out[:, 8:]

    def forward(self, x, boxes, labels):
        mu, sigma, logits = self.raw(x)
        # small boxes weigh more
        scale = 2.0 - (boxes[:, 2] * boxes[:, 3]).unsqueeze(1)
        loss_box = (scale * gaussian_nll(boxes, mu, sigma)).sum(dim=1) / 4
        loss_cls = nn.functional.cross_entropy(logits, labels, reduction='none')
        return (loss_box + loss_cls).mean()

    @torch.no_grad()
    def detect(self, x, threshold=0.3):
        self.eval()
        mu, sigma, logits = self.raw(x)
        uncertainty = sigma.mean(dim=1)
        score = logits.softmax(dim=1).max(dim=1)[0] * (1.0 - uncertainty)
        self.train()
        return mu, score, score > threshold


def make_boxes(n=32, size=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = 0.2 * torch.randn(n, 1, size, size, generator=g)
    boxes = torch.zeros(n, 4)
    labels = torch.randint(0, 2, (n,), generator=g)
    for i in range(n):
        w, h = torch.randint(8, 17, (2,), generator=g).tolist()
        left = int(torch.randint(0, size - w, (1,), generator=g))
        top = int(torch.randint(0, size - h, (1,), generator=g))
        x[i, 0, top:top + h, left:left + w] += 1.0
        if labels[i] == 1:
            x[i, 0, top + 2:top + h - 2, left + 2:left + w - 2] -= 1.0
        boxes[i] = torch.tensor([left + w / 2, top + h / 2, w, h]) / size
    return x, boxes, labels


def build():
    torch.manual_seed(0)
    return GaussianBoxNet()


def example_inputs():
    return make_boxes(16)
