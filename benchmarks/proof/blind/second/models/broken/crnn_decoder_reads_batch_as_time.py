r"""A video classifier: features of the frames from a CNN, then an LSTM.

Source: https://github.com/HHTseng/video-classification/issues/42
    https://github.com/yunjey/pytorch-tutorial/issues/73
Fault: the frames come as (batch, time, features) and the LSTM is not batch_first, so it runs over
    the videos of the batch instead of over the time of each.
Cause: batch_first|transpos|permut|(batch|time|sequence)\b.*\b(axis|axes|dimension|order|swap)|over
    the batch
Place: LSTM
"""

import torch
from torch import nn


class EncoderCNN(nn.Module):
    def __init__(self, embed=24):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 8, 5, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(3)
        )
        self.fc = nn.Linear(72, embed)

    def forward(self, clips):
        frames = [self.fc(self.conv(clips[:, t]).flatten(1)) for t in range(clips.size(1))]
        return torch.stack(frames, dim=1)


class DecoderRNN(nn.Module):
    def __init__(self, embed=24, hidden=32, classes=6):
        super().__init__()
        self.LSTM = nn.LSTM(input_size=embed, hidden_size=hidden, num_layers=2)  # here
        self.fc1 = nn.Linear(hidden, 16)
        self.fc2 = nn.Linear(16, classes)

    def forward(self, x_rnn):
        out, _ = self.LSTM(x_rnn, None)
        return self.fc2(self.fc1(out[:, -1, :]).relu())


def build():
    return nn.Sequential(EncoderCNN(), DecoderRNN())


def example_inputs():
    return (torch.randn(5, 8, 3, 24, 24),)
