r"""Model of a raw voice that foretells each sample from the samples before it.

Source: https://github.com/golbin/WaveNet/issues/5
Fault: The dilated convolution is padded with zeros on both sides, so it also sees samples that
    come later.
Cause: (not|non|isn't|no longer|breaks?|violat\w*).{0,20}causal\w*|causal\w*.{0,60}(broken
    |violat\w*|lost)|(both sides|symmetric\w*|centred|centered|two.?sided).{0,60}|(see\w*
    |look\w*|leak\w*|use\w*|peek\w*|depend\w*|read\w*|from|into).{0,40}(future|later|ahead
    |next)|(future|later).{0,60}(leak\w*|seen|visible)|left.?pad\w*|pad\w*.{0,60}(left|both
    |right|symmetric)|same padding
Place: pad\w*|Dilated\w*|conv\w*|\bcausal\w*|forward|dilat\w*
"""

import torch
import torch.nn.functional as F
from torch import nn


class CausalConv1d(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, 2, padding=1, bias=False)

    def forward(self, x):
        return self.conv(x)[:, :, :-1]


class DilatedConv1d(nn.Module):
    def __init__(self, size, dilation):
        super().__init__()
        self.conv = nn.Conv1d(size, 2 * size, 3, padding=dilation, dilation=dilation)  # here

    def forward(self, x):
        return self.conv(x)


class ResidualBlock(nn.Module):
    def __init__(self, channels, skip, dilation):
        super().__init__()
        self.dilated = DilatedConv1d(channels, dilation)
        self.conv_res = nn.Conv1d(channels, channels, 1)
        self.conv_skip = nn.Conv1d(channels, skip, 1)

    def forward(self, x):
        out, gate = self.dilated(x).chunk(2, 1)
        gated = torch.tanh(out) * torch.sigmoid(gate)
        return x + self.conv_res(gated), self.conv_skip(gated)


class Voice(nn.Module):
    def __init__(self, layers=5, stacks=2, levels=64, channels=24, skip=48):
        super().__init__()
        self.levels = levels
        self.causal = CausalConv1d(levels, channels)
        dilations = [2**i for i in range(layers)] * stacks
        self.blocks = nn.ModuleList(ResidualBlock(channels, skip, d) for d in dilations)
        self.conv1, self.conv2 = nn.Conv1d(skip, levels, 1), nn.Conv1d(levels, levels, 1)

    def forward(self, wave):
        x = F.one_hot(wave, self.levels).float().transpose(1, 2)
        x = self.causal(x)[:, :, :-1]
        total = 0
        for block in self.blocks:
            x, skip = block(x)
            total = total + skip
        scores = self.conv2(F.relu(self.conv1(F.relu(total))))
        return F.cross_entropy(scores, wave[:, 1:])


def build():
    return Voice()


def example_inputs():
    return (torch.randint(0, 64, (2, 200)),)
