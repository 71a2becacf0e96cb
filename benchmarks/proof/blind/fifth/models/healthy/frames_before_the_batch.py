r"""Recogniser of written lines whose outputs go to the loss of connectionist classification.

Source: https://github.com/meijieru/crnn.pytorch
Odd: The samples are the second axis of the output; the loss wants the frames first.
"""

import torch
from torch import nn


class BidirectionalLSTM(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.rnn = nn.LSTM(n_in, hidden, bidirectional=True)
        self.embedding = nn.Linear(2 * hidden, n_out)

    def forward(self, x):
        recurrent, _ = self.rnn(x)
        return self.embedding(recurrent)


class CRNN(nn.Module):
    def __init__(self, letters=27, hidden=24):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d((2, 1)),
            nn.Conv2d(32, 32, (4, 1)),
            nn.ReLU(),
        )
        self.rnn = nn.Sequential(
            BidirectionalLSTM(32, hidden, hidden), BidirectionalLSTM(hidden, hidden, letters)
        )

    def forward(self, line):
        x = self.cnn(line).squeeze(2)
        return self.rnn(x.permute(2, 0, 1)).log_softmax(dim=2)


def build():
    return CRNN()


def example_inputs():
    return torch.rand(5, 1, 16, 48)
