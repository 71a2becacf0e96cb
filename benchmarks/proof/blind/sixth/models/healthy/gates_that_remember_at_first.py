r"""Recurrent tagger of signals.

Source: https://proceedings.mlr.press/v37/jozefowicz15.html
Odd: One quarter of a bias is one and the rest of it zero, and the second bias is zero throughout;
    the weights between the states are orthogonal in parts.
"""

import torch
from torch import nn


def init_lstm(lstm):
    for name, p in lstm.named_parameters():
        if "weight_ih" in name:
            nn.init.xavier_uniform_(p)
        elif "weight_hh" in name:
            for part in p.data.chunk(4):
                nn.init.orthogonal_(part)
        else:
            nn.init.zeros_(p)
            if "bias_ih" in name:
                start, end = p.numel() // 4, p.numel() // 2
                p.data[start:end] = 1.0


class Tagger(nn.Module):
    def __init__(self, channels=6, hidden=32, tags=4):
        super().__init__()
        self.lstm = nn.LSTM(channels, hidden, num_layers=2, batch_first=True)
        init_lstm(self.lstm)
        self.tag = nn.Linear(hidden, tags)

    def forward(self, signal):
        return self.tag(self.lstm(signal)[0])


def build():
    return Tagger()


def example_inputs():
    return torch.randn(8, 25, 6)
