r"""The model `StepDecoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTMCell.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class StepDecoder(nn.Module):
    def __init__(self, features=6, hidden=24, out=2):
        super().__init__()
        self.hidden = hidden
        self.inp = nn.Linear(features, 16)
        self.cell = nn.LSTMCell(16, hidden)
        self.out = nn.Linear(hidden, out)

    def forward(self, x):
        state = (x.new_zeros(x.size(0), self.hidden), x.new_zeros(x.size(0), self.hidden))
        for t in range(x.size(1)):
            step = torch.relu(self.inp(x[:, t]))
            state = self.cell(step, state)
        return self.out(state[0])


torch.manual_seed(0)
model = StepDecoder()
example_inputs = (torch.randn(8, 10, 6),)
