"""A bidirectional LSTM that classifies series by its last output.

Source: https://github.com/aymericdamien/TensorFlow-Examples/issues/201
Fault: outputs[-1] of the backward direction has seen one step only; its recurrent weight is idle.
Cause: (backward|reverse|direction).*(step|last|first|one|only)|last.*(backward|reverse)
Place: lstm|outputs
"""

import torch
from torch import nn


class BiRNN(nn.Module):
    def __init__(self, num_input=5, num_hidden=12, num_classes=3):
        super().__init__()
        self.lstm = nn.LSTM(num_input, num_hidden, bidirectional=True)
        self.out = nn.Linear(2 * num_hidden, num_classes)

    def forward(self, x):
        """Series are (time, batch, features)."""
        outputs, _ = self.lstm(x)
        return self.out(outputs[-1])  # here


def example_inputs():
    return (torch.randn(10, 6, 5),)
