r"""The model `GestureNet`.

Source: https://discuss.pytorch.org/t/bilstm-output-hidden-state-mismatch/49825
Fault: output[:, -1] of a bidirectional GRU is used as the sequence summary, where the backward
    half has seen only the last step.
Cause: backward.*(only|one|single|just|first).*(step|token|element|frame)
    |(last|final) (time ?step|step|output).*(bidirectional|backward|revers)|out(put)?\[:, ?-1\]
    |revers\w* (direction|half).*(one|single|last)
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
        summary = out[:, -1]
        return self.head(summary)


torch.manual_seed(0)
model = GestureNet()
example_inputs = (torch.randn(8, 25, 9),)
