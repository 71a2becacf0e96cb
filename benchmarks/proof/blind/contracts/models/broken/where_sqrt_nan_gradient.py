r"""The model `Spectrometer`.

Source: https://github.com/pytorch/pytorch/issues/52248
Fault: torch.where guards sqrt only in the forward; the gradient of the unselected branch (sqrt of
    a negative number) still gives NaN.
Cause: where|sqrt|nan|(unselected|masked|other) branch|double where
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
        zero = torch.zeros_like(power)
        return torch.where(power > 0, torch.sqrt(power), zero)

    def forward(self, x):
        a = self.amplitude(self.calib(x))
        h = F.relu(self.fc1(a))
        return self.fc2(h)


torch.manual_seed(0)
model = Spectrometer()
example_inputs = (torch.randn(8, 16),)
