r"""The model `LoadForecast`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.RNN.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoadForecast(nn.Module):
    def __init__(self, features=7, hidden=32, horizon=6, p=0.3):
        super().__init__()
        self.inp = nn.Linear(features, 16)
        self.rnn = nn.RNN(16, hidden, num_layers=1, batch_first=True)
        self.drop = nn.Dropout(p)
        self.fc = nn.Linear(hidden, horizon)

    def forward(self, x):
        x = F.gelu(self.inp(x))
        out, _ = self.rnn(x)
        h = self.drop(out[:, -1])
        return self.fc(h)


torch.manual_seed(0)
model = LoadForecast()
example_inputs = (torch.randn(8, 24, 7),)
