"""Restoration of one damaged picture by a network that gets nothing but fixed noise.

Source: https://github.com/DmitryUlyanov/deep-image-prior
Odd: The input is noise that never changes and holds no information, there is one target only, and
    the training stops early on purpose; the form of the network is the prior.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(47)
SIZE = 32
NUM_ITER, REG_NOISE_STD = 200, 0.03


def picture():
    y, x = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")
    disc = ((x + 0.2).square() + (y - 0.1).square() < 0.35).float()
    bar = ((x - 0.55).abs() < 0.18).float()
    return (0.2 + 0.5 * disc + 0.25 * bar + 0.05 * y).clamp(0, 1)[None, None]


class Skip(nn.Module):
    def __init__(self, depth=16, channels=24):
        super().__init__()
        self.down1 = self.block(depth, channels, 2)
        self.down2 = self.block(channels, channels, 2)
        self.up2 = self.block(channels, channels)
        self.up1 = self.block(channels, channels)
        self.out = nn.Conv2d(channels, 1, 1)

    @staticmethod
    def block(inputs, outputs, stride=1):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, padding_mode="reflect"),
            nn.BatchNorm2d(outputs),
            nn.LeakyReLU(0.2),
        )

    def forward(self, z):
        h = self.down2(self.down1(z))
        h = self.up2(F.interpolate(h, scale_factor=2, mode="bilinear"))
        h = self.up1(F.interpolate(h, scale_factor=2, mode="bilinear"))
        return torch.sigmoid(self.out(h))


def psnr(a, b):
    return -10 * F.mse_loss(a, b).log10().item()


clean = picture()
noisy = clean + 0.15 * torch.randn_like(clean)
net_input_saved = 0.1 * torch.rand(1, 16, SIZE, SIZE)
net = Skip()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
average = None
for i in range(NUM_ITER):
    net_input = net_input_saved + REG_NOISE_STD * 0.1 * torch.randn_like(net_input_saved)
    out = net(net_input)
    loss = F.mse_loss(out, noisy)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    out = out.detach()
    average = out if average is None else 0.95 * average + 0.05 * out
    if i % 40 == 0:
        print(f"Iteration {i:05d} Loss {loss.item():.5f} PSNR to the clean {psnr(out, clean):.2f}")
print(f"PSNR of the damaged picture {psnr(noisy, clean):.2f}, restored {psnr(average, clean):.2f}")
