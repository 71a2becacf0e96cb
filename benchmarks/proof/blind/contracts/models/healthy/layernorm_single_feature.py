r"""The model `SpeedModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class SpeedModel(nn.Module):
    def __init__(self, hidden=16, horizon=3):
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, horizon)

    def forward(self, speed):
        # speed: [batch, 12 time steps]
        x = self.norm(speed).unsqueeze(-1)
        _, h = self.rnn(x)
        return self.head(h[-1])


torch.manual_seed(0)
model = SpeedModel()
example_inputs = (torch.randn(8, 12),)
