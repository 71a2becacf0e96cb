r"""The view of an object from another angle, from one view and the angle.

Source: https://github.com/shaohua0116/Multiview2Novelview/issues/11
Fault: The second layer of each residual block takes the input of the block again, so the result of
    the first layer is thrown away and the layer is never trained.
Cause: (first|conv1|res1|fc1)\w*.{0,100}(unused|not used|never used|ignored|discard|thrown|no grad
    |overwrit|dead|no effect|without (a )?grad)|(second|conv2|res2|fc2)\w*.{0,60}(input|wrong)
    |no grad|unused|overwrit
Place: res1|res2|ResidualBlock|\bh\b|forward
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(181)
POINTS = 10


def turn(points, angle):
    c, s = angle.cos()[:, None], angle.sin()[:, None]
    x, y, z = points.unbind(-1)
    return torch.stack([c * x - s * y, s * x + c * y, z], -1)


def project(points):
    depth = 3 + points[..., 0]
    return torch.stack([points[..., 1] / depth, points[..., 2] / depth, 1 / depth], -1).flatten(1)


def views(count=64):
    points = torch.rand(count, POINTS, 3) * 2 - 1
    angle = (torch.rand(count) * 2 - 1) * math.pi
    source, target = project(points), project(turn(points, angle))
    pose = torch.stack([angle.cos(), angle.sin()], 1)
    return torch.cat([source, pose], 1), target


class ResidualBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.res1 = nn.Linear(width, width)
        self.res2 = nn.Linear(width, width)

    def forward(self, x):
        h = F.leaky_relu(self.res1(x), 0.2)
        h = self.res2(x)  # here
        return x + h


class FlowModule(nn.Module):
    def __init__(self, width=96, blocks=3):
        super().__init__()
        self.enter = nn.Linear(3 * POINTS + 2, width)
        self.bottleneck = nn.Sequential(*[ResidualBlock(width) for _ in range(blocks)])
        self.leave = nn.Linear(width, 3 * POINTS)

    def forward(self, x):
        return self.leave(self.bottleneck(self.enter(x)))


model = FlowModule()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 350)
for s in range(350):
    source, target = views()
    loss = F.l1_loss(model(source), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if s % 70 == 0:
        print(f"[train step {s:4d}] Loss: {loss.item():.5f}")
with torch.no_grad():
    source, target = views(1000)
    error = F.l1_loss(model(source), target).item()
    mean = F.l1_loss(target.mean(0).expand_as(target), target).item()
print(f"error {error:.5f}, of the mean view {mean:.5f}")
