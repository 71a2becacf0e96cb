"""A recurrent Q network over features of frames.

Source: https://github.com/AndersonJo/dqn-pytorch/issues/1
Fault: the LSTM expects time first, so it runs over the batch and transitions influence each
    other.
Cause: batch_first|time.*batch|batch.*(time|sequence)|(sequence|seq).*batch|order|transpose
Place: lstm
"""

import torch
import torch.nn.functional as F
from torch import nn


class LSTMDQN(nn.Module):
    def __init__(self, features=16, memory=24, n_action=3):
        super().__init__()
        self.conv = nn.Conv1d(features, 16, 1)
        self.lstm = nn.LSTM(16, memory, 1)  # here
        self.affine = nn.Linear(memory, n_action)

    def forward(self, frames):
        """Frames are (batch, time, features)."""
        h = F.relu(self.conv(frames.transpose(1, 2))).transpose(1, 2)
        h, _ = self.lstm(h)
        return self.affine(h[:, -1])


def example_inputs():
    return (torch.randn(6, 4, 16),)
