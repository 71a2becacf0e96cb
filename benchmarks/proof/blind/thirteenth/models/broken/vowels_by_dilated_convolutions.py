r"""Tells vowels apart from a short wave, by a deep stack of weight-normalised convolutions.

Source: https://github.com/jik876/hifi-gan/issues/145
Fault: the weights are initialised after weight_norm was put on; the layer's weight is then only
    computed from two other parameters, so the initialisation is lost and the default one stays.
Cause: weight[_ ]?norm.{0,120}(init|effect|overwrit|lost|recomput|after|computed|discard|no )
    |(init|kaiming).{0,120}(no effect|lost|overwrit|ignored|after|weight[_ ]?norm|parametri
    |discard|nothing|never|without effect|temporary|copy|recomput)
    |parametri[sz](ation|ed).{0,80}(init|overwrit|recomput|lost)
Place: weight_norm|start|kaiming_normal_|apply|original0|original1|weight|init
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm

SAMPLES, VOWELS, WIDTH = 160, 5, 24


def start(module):
    if isinstance(module, nn.Conv1d):
        nn.init.kaiming_normal_(module.weight, nonlinearity="relu")  # here
        nn.init.zeros_(module.bias)


class VowelNet(nn.Module):
    def __init__(self, width=WIDTH, depth=10):
        super().__init__()
        layers = [weight_norm(nn.Conv1d(1, width, 7, stride=2, padding=3))]
        for number in range(depth):
            dilation = 2 ** (number % 4)
            conv = nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation)
            layers += [nn.ReLU(), weight_norm(conv)]
        self.convs = nn.Sequential(*layers)
        self.head = nn.Linear(width, VOWELS)
        self.convs.apply(start)

    def forward(self, wave, vowel):
        h = F.relu(self.convs(wave.unsqueeze(1)))
        return F.cross_entropy(self.head(h.mean(-1)), vowel)


def make_waves(n, seed):
    g = torch.Generator().manual_seed(seed)
    vowel = torch.randint(0, VOWELS, (n,), generator=g)
    t = torch.linspace(0, 1, SAMPLES)
    low = torch.tensor([4.0, 6.0, 8.0, 10.0, 12.0])[vowel].view(-1, 1)
    high = torch.tensor([30.0, 20.0, 25.0, 15.0, 35.0])[vowel].view(-1, 1)
    phase = 2 * math.pi * torch.rand(n, 1, generator=g)
    wave = torch.sin(2 * math.pi * low * t + phase) + torch.sin(2 * math.pi * high * t)
    return wave + 0.2 * torch.randn(n, SAMPLES, generator=g), vowel


def build():
    torch.manual_seed(0)
    return VowelNet()


def example_inputs():
    return make_waves(48, seed=30)
