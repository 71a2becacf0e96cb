r"""Octaves of a sound by a fixed decimation, with learnt filters in each octave.

Source: https://github.com/kymatio/murenn/issues/42
Fault: The convolutions are in a plain list, so the module does not know their parameters.
Cause: \blist\b|ModuleList|(not|un|never|n't).{0,20}regist|parameters\(\)|missing.{0,30}parameter
    |not.{0,20}(sub)?modules?|(parameter|weight)s?.{0,60}(missing|not|unknown|outside)
Place: conv1d|octave
"""

import torch
from torch import nn


class MultiResolution(nn.Module):
    def __init__(self, octaves=4, filters=(6, 6, 6, 6), kernel=7):
        super().__init__()
        low = torch.tensor([0.0322, -0.0126, -0.0992, 0.2979, 0.8037, 0.4976, -0.0296, -0.0758])
        self.register_buffer("low", (low / low.sum())[None, None])
        self.conv1d = []  # here
        for j in range(octaves):
            conv = nn.Conv1d(1, filters[j], kernel, padding=kernel // 2, bias=False)
            nn.init.normal_(conv.weight, std=kernel**-0.5)
            self.conv1d.append(conv)
        self.classify = nn.Linear(sum(filters), 5)

    def forward(self, sound):
        x = sound[:, None]
        pooled = []
        for conv in self.conv1d:
            pooled.append(conv(x).abs().mean(-1))
            x = nn.functional.conv1d(x, self.low, stride=2, padding=3)
        return self.classify(torch.log1p(torch.cat(pooled, dim=1)))


def build():
    return MultiResolution()


def example_inputs():
    time = torch.arange(256) / 256
    return torch.sin(6.28 * torch.tensor([5.0, 20.0, 40.0, 9.0])[:, None] * time)
