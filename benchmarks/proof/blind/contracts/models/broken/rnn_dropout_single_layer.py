r"""The model `LoadForecast`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.RNN.html
Fault: dropout= of a one-layer RNN has no effect, because it only acts between stacked layers.
Cause: dropout.*(no effect|single|one|last layer|num_layers|between|ignored|never|not appl|inactive|unused)
    |num_layers ?= ?1
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoadForecast(nn.Module):
    def __init__(self, features=7, hidden=32, horizon=6, p=0.3):
        super().__init__()
        self.inp = nn.Linear(features, 16)
        self.rnn = nn.RNN(16, hidden, num_layers=1, batch_first=True, dropout=p)
        self.fc = nn.Linear(hidden, horizon)

    def forward(self, x):
        x = F.gelu(self.inp(x))
        out, _ = self.rnn(x)
        h = out[:, -1]
        return self.fc(h)


torch.manual_seed(0)
model = LoadForecast()
example_inputs = (torch.randn(8, 24, 7),)
