r"""The model `SensorClassifier`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class SensorClassifier(nn.Module):
    def __init__(self, features=6, hidden=24, classes=4):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.rnn = nn.LSTM(features, hidden, num_layers=1, batch_first=True)
        self.head = nn.Sequential(
            nn.Linear(hidden, 16),
            nn.ReLU(),
            nn.Linear(16, classes),
        )

    def forward(self, x):
        # x: [batch, time, features]
        x = self.norm(x)
        out, _ = self.rnn(x)
        return self.head(out[:, -1])


torch.manual_seed(0)
model = SensorClassifier()
example_inputs = (torch.randn(8, 20, 6),)
