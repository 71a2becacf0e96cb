r"""Denoiser trained on noisy pictures only: each pixel is guessed from all the others.

Source: https://github.com/NVlabs/selfsupervised-denoising
Odd: The picture is turned four ways and each half-plane filter is shifted by one, so that the
    output at a pixel has no gradient to the input at that pixel; the padding is one-sided.
"""

import torch
import torch.nn.functional as F
from torch import nn


class UpConv(nn.Conv2d):
    def forward(self, x):
        k = self.kernel_size[0] // 2
        x = F.pad(x, (k, k, 2 * k, 0))
        return F.conv2d(x, self.weight, self.bias)


class HalfPlane(nn.Module):
    def __init__(self, cin, width):
        super().__init__()
        self.convs = nn.ModuleList(UpConv(c, width, 3) for c in (cin, width, width))

    def forward(self, x):
        for conv in self.convs:
            x = F.leaky_relu(conv(x), 0.1)
        return F.pad(x, (0, 0, 1, 0))[:, :, :-1]


class OthersOnly(nn.Module):
    def __init__(self, channels=3, width=16):
        super().__init__()
        self.branch = HalfPlane(channels, width)
        self.mix = nn.Sequential(
            nn.Conv2d(4 * width, 48, 1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(48, 24, 1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(24, channels, 1),
        )
        nn.init.zeros_(self.mix[-1].bias)

    def forward(self, noisy):
        turned = torch.cat([noisy.rot90(r, (2, 3)) for r in range(4)])
        parts = self.branch(turned).chunk(4)
        return self.mix(torch.cat([p.rot90(-r, (2, 3)) for r, p in enumerate(parts)], dim=1))


def build():
    return OthersOnly()


def example_inputs():
    clean = torch.linspace(0, 1, 24).expand(4, 3, 24, 24)
    return (clean + 0.1 * torch.randn(4, 3, 24, 24),)
