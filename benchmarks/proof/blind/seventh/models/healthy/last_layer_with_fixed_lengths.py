r"""Student and teacher heads of a picture encoder that learns from itself.

Source: https://github.com/facebookresearch/dino/blob/main/vision_transformer.py
Odd: The lengths of the rows of the last layer are a parameter that is fixed at one and not
    trained; the teacher is a copy without gradients; a buffer holds the centre of its outputs.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, dim, out, hidden=48, bottleneck=16):
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(dim, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Linear(hidden, bottleneck),
        )
        for m in self.mlp:
            if isinstance(m, nn.Linear):
                nn.init.trunc_normal_(m.weight, std=0.02)
                nn.init.zeros_(m.bias)
        self.weight_v = nn.Parameter(torch.randn(out, bottleneck) * bottleneck**-0.5)
        self.weight_g = nn.Parameter(torch.ones(out, 1), requires_grad=False)

    def forward(self, x):
        x = F.normalize(self.mlp(x), dim=-1)
        return F.linear(x, self.weight_g * F.normalize(self.weight_v, dim=1))


class SelfTaught(nn.Module):
    def __init__(self, dim=32, out=40):
        super().__init__()
        self.student = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1),
            nn.GELU(),
            nn.Conv2d(16, dim, 3, 2, 1),
            nn.GELU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            Head(dim, out),
        )
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.register_buffer("center", torch.zeros(1, out))

    def forward(self, view1, view2):
        s1, s2 = self.student(view1) / 0.1, self.student(view2) / 0.1
        with torch.no_grad():
            t1, t2 = self.teacher(view1), self.teacher(view2)
            p1 = ((t1 - self.center) / 0.04).softmax(-1)
            p2 = ((t2 - self.center) / 0.04).softmax(-1)
            if self.training:
                batch = torch.cat([t1, t2]).mean(0, keepdim=True)
                self.center.mul_(0.9).add_(batch, alpha=0.1)
        cross = (p1 * s2.log_softmax(-1)).sum(-1) + (p2 * s1.log_softmax(-1)).sum(-1)
        return -0.5 * cross


def build():
    return SelfTaught()


def example_inputs():
    x = torch.rand(6, 3, 24, 24)
    return x + 0.05 * torch.randn_like(x), x.flip(3)
