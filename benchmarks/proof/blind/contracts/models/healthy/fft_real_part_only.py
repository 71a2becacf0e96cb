r"""The model `BearingMonitor`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.real.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class BearingMonitor(nn.Module):
    def __init__(self, length=64, hidden=32, classes=4):
        super().__init__()
        self.register_buffer("window", torch.hann_window(length))
        self.net = nn.Sequential(
            nn.Linear(length // 2 + 1, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, classes)
        )

    def spectrum(self, x):
        f = torch.fft.rfft(x * self.window, norm="ortho")
        return f.abs()

    def forward(self, x):
        # x: [batch, samples]
        return self.net(self.spectrum(x))


torch.manual_seed(0)
model = BearingMonitor()
example_inputs = (torch.randn(8, 64),)
