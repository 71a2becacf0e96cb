r"""The model `TCN`.

Source: https://docs.pytorch.org/docs/stable/tensor_view.html
Fault: With no padding to remove, x[:, :, :-0] is empty, so the pooled output is NaN.
Cause: empty|zero[- ](length|size|element)|nan|:-0|-0\b|slice.*(zero|0|empty)|chomp
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Chomp(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        return x[:, :, :-self.size]


class TemporalBlock(nn.Module):
    def __init__(self, cin, cout, kernel, dilation):
        super().__init__()
        pad = (kernel - 1) * dilation
        self.conv = nn.Conv1d(cin, cout, kernel, padding=pad, dilation=dilation)
        self.chomp = Chomp(pad)

    def forward(self, x):
        return F.relu(self.chomp(self.conv(x)))


class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = TemporalBlock(3, 16, 3, 2)
        self.block = TemporalBlock(16, 16, 1, 1)
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.block(self.stem(x)).mean(dim=2))


torch.manual_seed(0)
model = TCN()
example_inputs = (torch.randn(4, 3, 20),)
