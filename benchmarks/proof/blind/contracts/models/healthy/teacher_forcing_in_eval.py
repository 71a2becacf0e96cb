r"""The model `Forecaster`.

Source: https://docs.pytorch.org/tutorials/intermediate/seq2seq_translation_tutorial.html
Healthy: the right twin of the broken case of this name.
"""

import random

import torch
import torch.nn as nn


class Forecaster(nn.Module):
    def __init__(self, hidden=24, forcing=0.5):
        super().__init__()
        self.forcing = forcing
        self.encoder = nn.GRU(1, hidden, batch_first=True)
        self.cell = nn.GRUCell(1, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, past, future):
        _, h = self.encoder(past)
        h, y = h[0], past[:, -1]
        steps = []
        for t in range(future.size(1)):
            h = self.cell(y, h)
            y = self.out(h)
            steps.append(y)
            if self.training and random.random() < self.forcing:
                y = future[:, t]
        return torch.stack(steps, dim=1)


torch.manual_seed(0)
model = Forecaster()
example_inputs = (torch.randn(6, 12, 1), torch.randn(6, 5, 1),)
