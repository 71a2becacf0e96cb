r"""Regression of the concentration of a gas from the readings of an array of sensors.

Source: https://github.com/keras-team/keras/issues/7057
Fault: The first steps at this rate push all units below zero, where a ReLU has no gradient.
Cause: dead|dying|(units?|relu\w*|neurons?|activations?) .*(zero|never|inactive|die|off)
    |learning rate|\blr\b|step size
Place: \blr\b
"""

import numpy as np
import torch
from torch import nn


def readings(rng, count, sensors=16):
    level = rng.uniform(0.0, 10.0, (count, 1))
    gain = np.linspace(0.5, 2.0, sensors)
    response = np.log1p(level * gain) + rng.normal(0, 0.05, (count, sensors))
    return response.astype(np.float32), level.astype(np.float32)


class SensorNet(nn.Module):
    def __init__(self, sensors=16):
        super().__init__()
        self.hidden1 = nn.Linear(sensors, 48)
        self.hidden2 = nn.Linear(48, 24)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        x = torch.relu(self.hidden1(x))
        x = torch.relu(self.hidden2(x))
        return self.out(x)


torch.manual_seed(0)
rng = np.random.default_rng(0)
x, y = map(torch.from_numpy, readings(rng, 512))
net = SensorNet()
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)  # here
history = []
for epoch in range(12):
    for rows in torch.randperm(512).split(64):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    print(f"epoch {epoch:2d} loss {np.mean(history[-8:]):.4f}")
print(f"spread of the predictions {net(x).std().item():.4f}, of the targets {y.std().item():.4f}")
