r"""Next sample of a sound wave from all the samples so far, by dilated gated convolutions.

Source: https://github.com/peustr/wavenet/issues/1
Fault: The padding is the same on both sides, so the guess of a sample sees later samples.
Cause: \bcausal\w*|future|(later|next|following|coming) (sample|step|position)|look\w*.?ahead
    |(padd\w*|same).{0,100}(both|left|right|symmetric|caus|future|one side)
    |symmetric
Place: padding|\bsame\b|conv\w*|dilated|filter|gate
"""

import torch
from torch import nn


class GatedBlock(nn.Module):
    def __init__(self, width, skip, dilation, last):
        super().__init__()
        self.filter = nn.Conv1d(width, width, 3, dilation=dilation, padding="same")  # here
        self.gate = nn.Conv1d(width, width, 3, dilation=dilation, padding="same")  # here
        self.to_residual = None if last else nn.Conv1d(width, width, 1)
        self.to_skip = nn.Conv1d(width, skip, 1)

    def forward(self, x):
        y = torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x))
        if self.to_residual is not None:
            x = x + self.to_residual(y)
        return x, self.to_skip(y)


class SampleAfterSample(nn.Module):
    def __init__(self, levels=64, residual=24, skip=32, dilations=(1, 2, 4, 8, 1, 2, 4, 8)):
        super().__init__()
        self.levels = levels
        self.embed = nn.Embedding(levels, residual)
        self.start = nn.Parameter(torch.zeros(1, residual, 1))
        self.blocks = nn.ModuleList(
            GatedBlock(residual, skip, d, last=i + 1 == len(dilations))
            for i, d in enumerate(dilations)
        )
        self.out = nn.Sequential(
            nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, levels, 1)
        )

    def forward(self, wave):
        x = self.embed(wave).transpose(1, 2)
        x = torch.cat([self.start.expand(len(x), -1, -1), x[:, :, :-1]], dim=2)
        total = 0.0
        for block in self.blocks:
            x, skip = block(x)
            total = total + skip
        return self.out(total)


def build():
    return SampleAfterSample()


def example_inputs():
    time = torch.arange(80) / 8.0
    wave = torch.sin(time * (0.5 + torch.rand(4, 1)))
    return (((wave + 1) * 31.5).round().long(),)
