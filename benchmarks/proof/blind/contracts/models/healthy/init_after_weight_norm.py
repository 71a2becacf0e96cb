r"""The model `Vocoder`.

Source: https://github.com/jik876/hifi-gan/issues/145
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm


def init_weights(m):
    if isinstance(m, (nn.Conv1d, nn.Linear)):
        nn.init.normal_(m.weight, 0.0, 0.01)
        nn.init.zeros_(m.bias)


class ResidualUnit(nn.Module):
    def __init__(self, width, dilations=(1, 3)):
        super().__init__()
        convs = [nn.Conv1d(width, width, 3, dilation=d, padding=d) for d in dilations]
        self.convs = nn.ModuleList(convs)
        self.convs.apply(init_weights)
        for i, conv in enumerate(self.convs):
            self.convs[i] = weight_norm(conv)

    def forward(self, x):
        for conv in self.convs:
            x = x + conv(F.leaky_relu(x, 0.1))
        return x


class Vocoder(nn.Module):
    def __init__(self, mels=8, width=16):
        super().__init__()
        self.pre = nn.Conv1d(mels, width, 5, padding=2)
        self.unit = ResidualUnit(width)
        self.post = nn.Conv1d(width, 1, 5, padding=2)

    def forward(self, mel):
        return torch.tanh(self.post(self.unit(self.pre(mel))))


torch.manual_seed(0)
model = Vocoder()
example_inputs = (torch.randn(4, 8, 24),)
