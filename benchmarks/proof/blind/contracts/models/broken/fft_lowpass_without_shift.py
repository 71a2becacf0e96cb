r"""The model `LowFrequencyBranch`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.fft.fftshift.html
Fault: The low-pass mask keeps the centre of the spectrum, but fft2 puts low frequencies in the
    corners (no fftshift), so the high frequencies are kept.
Cause: fftshift|shift|corner|(low|high)[- ]?(pass|freq)|centre|center|zero[- ]freq|\bdc\b
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class LowFrequencyBranch(nn.Module):
    def __init__(self, size=16, radius=4, width=12):
        super().__init__()
        k = torch.arange(size) - size // 2
        mask = (k[:, None] ** 2 + k[None] ** 2 <= radius ** 2).float()
        self.register_buffer("mask", mask)
        self.smooth = nn.Conv2d(1, width, 3, padding=1)
        self.detail = nn.Conv2d(1, width, 3, padding=1)
        self.out = nn.Conv2d(2 * width, 1, 1)

    def low(self, x):
        spec = torch.fft.fft2(x)
        spec = spec * self.mask
        return torch.fft.ifft2(spec).real

    def forward(self, x):
        low = self.low(x)
        h = torch.cat([self.smooth(low), self.detail(x - low)], dim=1)
        return self.out(F.silu(h))


torch.manual_seed(0)
model = LowFrequencyBranch()
example_inputs = (torch.randn(4, 1, 16, 16),)
