r"""Two-way recurrent classifier which reads the rows of a handwritten digit.

Source: https://github.com/prabhuomkar/pytorch-cpp/pull/13
Fault: The classifier takes the output at the last row for both directions, where the backward
    reader has seen only that one row.
Cause: (backward|reverse\w*|right.to.left).{0,140}(only|one|single|first|last|just)|(last
    |final) (time.?step|step|position|row|output|element).{0,140}(backward|reverse\w*|both)
    |(h_?n|final hidden|last hidden).{0,60}(both|each|instead|direction)|out\[:, -1
Place: out\w*|states|forward|\b_\b|h_?n|\[:, -1
"""

import torch
from torch import nn


class TwoWayReader(nn.Module):
    def __init__(self, columns=28, hidden=48, layers=2, classes=10):
        super().__init__()
        self.hidden, self.layers = hidden, layers
        self.lstm = nn.LSTM(columns, hidden, layers, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        shape = (2 * self.layers, x.size(0), self.hidden)
        start = x.new_zeros(shape), x.new_zeros(shape)
        out, _ = self.lstm(x, start)
        return self.fc(out[:, -1])  # here


def build():
    return TwoWayReader()


def example_inputs():
    return (torch.rand(8, 28, 28),)
