r"""An audio separation network: dilated convolutions over the spectrogram, then an LSTM over time.

Source: https://github.com/vitrioil/Speech-Separation/issues/4
Fault: view turns (batch, channels, time, freq) into (batch, time, channels*freq) without a permute,
    so each time step holds values of other channels and bins.
Cause: \bviews?\b|reshap|permut|transpos|mix(es|ed|ing)\b|\baxes\b|layout
Place: \.view\b|\blstm\b
"""

import torch
from torch import nn


class AudioStream(nn.Module):
    def __init__(self, channels=4, freq=33, hidden=32):
        super().__init__()
        convs = []
        last = 2
        for dilation in (1, 2, 4):
            convs += [
                nn.Conv2d(last, channels, 3, padding=dilation, dilation=dilation),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
            ]
            last = channels
        self.convs = nn.Sequential(*convs)
        self.lstm = nn.LSTM(channels * freq, hidden, batch_first=True, bidirectional=True)
        self.mask = nn.Linear(2 * hidden, 2 * freq)

    def forward(self, spec):
        batch, _, time, _ = spec.shape
        x = self.convs(spec)
        x = x.view(batch, time, -1)  # here
        x, _ = self.lstm(x)
        mask = torch.sigmoid(self.mask(x)).view(batch, time, 2, -1).permute(0, 2, 1, 3)
        return spec * mask


def example_inputs():
    return (torch.randn(2, 2, 40, 33),)
