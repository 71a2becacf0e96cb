r"""The model `SpectrumPooler`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.fft.rfft.html
Fault: torch.fft.rfft works on the last dimension by default, which is the features of [B, T, C]
    instead of the time.
Cause: fft.*(dim|axis|feature|channel|last|time|default)
    |(dim|axis).*(fft|default|feature|time|last)|spectrum (of|over) (the )?(feature|channel)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectrumPooler(nn.Module):
    def __init__(self, features=16, dim=24, classes=4):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.mix = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, classes)
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        # x: [batch, time, features]
        h = torch.tanh(self.inp(x))
        spec = torch.fft.rfft(h, norm="ortho")
        power = spec.abs().square()
        power = power.mean(dim=1)
        power = F.pad(power, (0, self.gain.numel() - power.size(1)))
        return self.head(F.relu(self.mix(power * self.gain)))


torch.manual_seed(0)
model = SpectrumPooler()
example_inputs = (torch.randn(6, 20, 16),)
