r"""Bidirectional recurrent network that reads a digit row by row.

Source: https://github.com/yunjey/pytorch-tutorial/issues/149
Fault: The output of the last row is used; there the backward direction has read this row alone.
Cause: backward (direction|half|lstm|states?|part|cell)|reverse\w*|bidirectional
    |last (step|time ?step|row|output|position) .*(only|direction|one)|only .*last (step|row|input)
"""

import torch
from torch import nn


class BiRNN(nn.Module):
    def __init__(self, input_size=28, hidden_size=32, num_layers=1, num_classes=10):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.lstm = nn.LSTM(
            input_size, hidden_size, num_layers, batch_first=True, bidirectional=True
        )
        self.fc = nn.Linear(hidden_size * 2, num_classes)

    def forward(self, x):
        h0 = torch.zeros(self.num_layers * 2, x.size(0), self.hidden_size)
        c0 = torch.zeros(self.num_layers * 2, x.size(0), self.hidden_size)
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out[:, -1, :])  # here


def build():
    return BiRNN()


def example_inputs():
    return torch.rand(12, 28, 28)
