r"""Shadows in grey slices, darker or lighter than their surroundings, marked by a small net.

Source: https://github.com/DengPingFan/Inf-Net/issues/43
Fault: The block defines a ReLU but its forward only calls convolution and normalisation, so the
    whole net is linear and cannot mark dark and light shadows at once.
Cause: relu.{0,80}(never|not|unused|missing|no|without|forgot|defined)|(no|missing|without|lack
    |never|not).{0,40}(activation|nonlinear|non.linear|relu)|(net|model|network|stack
    |block).{0,40}(is|are|stays|remains|purely|only|entirely|completely) linear
    |activation.{0,60}(never|not|unused)
Place: BasicConv2d|relu|forward
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(43)
SIZE = 16


class BasicConv2d(nn.Module):
    def __init__(self, in_planes, out_planes, kernel_size, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(in_planes, out_planes, kernel_size, padding=padding, bias=False)
        self.bn = nn.BatchNorm2d(out_planes)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.conv(x)
        return self.bn(x)  # here


class ShadowNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = BasicConv2d(1, 16, 3, padding=1)
        self.branch1 = BasicConv2d(16, 16, 1)
        self.branch2 = BasicConv2d(16, 16, 5, padding=2)
        self.fuse = BasicConv2d(32, 16, 3, padding=1)
        self.out = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        x = self.stem(x)
        x = torch.cat([self.branch1(x), self.branch2(x)], 1)
        return self.out(self.fuse(x))


def slices(count):
    rows, cols = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    centre = 4 + 8 * torch.rand(count, 2, 1, 1)
    mask = (rows - centre[:, 0]) ** 2 + (cols - centre[:, 1]) ** 2 < 14
    sign = torch.randint(0, 2, (count, 1, 1)) * 2 - 1
    image = 1.2 * sign * mask + 0.4 * torch.randn(count, SIZE, SIZE)
    return image.unsqueeze(1), mask.float().unsqueeze(1)


net = ShadowNet()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(120):
    image, mask = slices(24)
    pred = net(image)
    loss = F.binary_cross_entropy_with_logits(pred, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 24 == 23:
        found = (pred > 0).float()
        dice = (2 * (found * mask).sum() / (found.sum() + mask.sum())).item()
        print(f"step {step + 1} loss {loss.item():.4f} dice {dice:.3f}")
