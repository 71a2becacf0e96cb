r"""The model `GestureNet`.

Source: https://discuss.pytorch.org/t/bilstm-output-hidden-state-mismatch/49825
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class GestureNet(nn.Module):
    def __init__(self, features=9, hidden=16, classes=6):
        super().__init__()
        self.proj = nn.Linear(features, 16)
        self.gru = nn.GRU(16, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        x = torch.tanh(self.proj(x))
        out, h = self.gru(x)
        summary = torch.cat([h[0], h[1]], dim=-1)
        return self.head(summary)


torch.manual_seed(0)
model = GestureNet()
example_inputs = (torch.randn(8, 25, 9),)
