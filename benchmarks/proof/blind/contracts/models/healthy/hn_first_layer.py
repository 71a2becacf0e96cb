r"""The model `WatchApp`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.RNN.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class ActivityModel(nn.Module):
    def __init__(self, features=6, hidden=24, classes=5):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.rnn = nn.RNN(features, hidden, num_layers=2, batch_first=True)
        self.fc = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, classes))

    def forward(self, x):
        _, h = self.rnn(self.norm(x))
        return self.fc(h[-1])


class WatchApp(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = ActivityModel()

    def forward(self, x):
        return self.model(x)


torch.manual_seed(0)
model = WatchApp()
example_inputs = (torch.randn(8, 20, 6),)
