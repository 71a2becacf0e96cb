r"""The model `Odometry`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.cumsum.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class VelocityIntegrator(nn.Module):
    def __init__(self, features=6, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, batch_first=True)
        self.velocity = nn.Linear(hidden, 2)
        self.dt = 0.1

    def forward(self, imu, start):
        # imu: [batch, time, features], start: [batch, 2]
        h, _ = self.rnn(imu)
        v = self.velocity(h)
        path = torch.cumsum(v * self.dt, dim=1)
        return start.unsqueeze(1) + path


class Odometry(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = VelocityIntegrator()

    def forward(self, imu, start):
        return self.model(imu, start)


torch.manual_seed(0)
model = Odometry()
example_inputs = (torch.randn(6, 20, 6), torch.randn(6, 2),)
