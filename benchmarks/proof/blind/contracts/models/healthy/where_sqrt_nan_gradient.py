r"""The model `Spectrometer`.

Source: https://github.com/pytorch/pytorch/issues/52248
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Spectrometer(nn.Module):
    def __init__(self, bands=16, hidden=32, out=3):
        super().__init__()
        self.calib = nn.Linear(bands, bands)
        self.fc1 = nn.Linear(bands, hidden)
        self.fc2 = nn.Linear(hidden, out)

    def amplitude(self, power):
        safe = torch.where(power > 0, power, torch.ones_like(power))
        return torch.where(power > 0, torch.sqrt(safe), torch.zeros_like(power))

    def forward(self, x):
        a = self.amplitude(self.calib(x))
        h = F.relu(self.fc1(a))
        return self.fc2(h)


torch.manual_seed(0)
model = Spectrometer()
example_inputs = (torch.randn(8, 16),)
