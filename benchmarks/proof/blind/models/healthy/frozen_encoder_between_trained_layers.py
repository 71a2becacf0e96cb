"""Linear probing of EEG with a trained map of channels before a frozen encoder.

Source: https://github.com/BINE022/EEGPT/issues/18
Odd: the encoder in the middle is frozen, yet gradients must run through it to chan_conv.
"""

import torch
from torch import nn


class EEGProbe(nn.Module):
    def __init__(self, electrodes=5, channels=8, classes=3):
        super().__init__()
        self.chan_conv = nn.Conv1d(electrodes, channels, 1)
        self.target_encoder = nn.Sequential(
            nn.Conv1d(channels, 16, 5, stride=2), nn.GELU(), nn.Conv1d(16, 16, 5, stride=2)
        )
        self.target_encoder.requires_grad_(False)
        self.linear_probe = nn.Linear(16, classes)

    def forward(self, x):
        self.target_encoder.eval()
        return self.linear_probe(self.target_encoder(self.chan_conv(x)).mean(-1))


def example_inputs():
    return (torch.randn(6, 5, 32),)
