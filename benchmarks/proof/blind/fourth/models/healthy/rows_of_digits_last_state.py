r"""Digits read row by row by a recurrent network.

Source: https://github.com/yunjey/pytorch-tutorial/issues/151
Odd: Only the last output of the sequence is used; with batch_first this is out[:, -1].
"""

import torch
from torch import nn


class RNN(nn.Module):
    def __init__(self, size=14, hidden=32, layers=2, classes=10):
        super().__init__()
        self.hidden, self.layers = hidden, layers
        self.lstm = nn.LSTM(size, hidden, layers, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        h0 = torch.zeros(self.layers, x.size(0), self.hidden)
        c0 = torch.zeros(self.layers, x.size(0), self.hidden)
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out[:, -1, :])


def build():
    return RNN()


def example_inputs():
    return torch.rand(8, 14, 14)
