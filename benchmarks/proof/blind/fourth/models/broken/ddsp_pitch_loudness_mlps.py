r"""Synthesiser controls from pitch and loudness, each with a network of its own.

Source: https://github.com/acids-ircam/ddsp_pytorch/issues/37
Fault: The list of one network times two has the same network twice.
Cause: shar(e|es|ed|ing)\b|same (module|weights?|parameters?|instance|network|object|layer)
    |(used|called|applied|runs?) (twice|2 times|more than once)
Place: in_mlps
"""

import torch
from torch import nn


def mlp(in_size, hidden_size, n_layers):
    channels = [in_size] + n_layers * [hidden_size]
    net = []
    for i in range(n_layers):
        net += [nn.Linear(channels[i], channels[i + 1]), nn.LayerNorm(channels[i + 1])]
        net.append(nn.LeakyReLU())
    return nn.Sequential(*net)


class Synth(nn.Module):
    def __init__(self, hidden=32, harmonics=10):
        super().__init__()
        self.in_mlps = nn.ModuleList([mlp(1, hidden, 3)] * 2)  # here
        self.gru = nn.GRU(2 * hidden, hidden, batch_first=True)
        self.out_mlp = mlp(hidden + 2, hidden, 3)
        self.proj = nn.Linear(hidden, harmonics + 1)

    def forward(self, pitch, loudness):
        hidden = torch.cat([self.in_mlps[0](pitch), self.in_mlps[1](loudness)], -1)
        hidden = torch.cat([self.gru(hidden)[0], pitch, loudness], -1)
        return 2 * torch.sigmoid(self.proj(self.out_mlp(hidden))) ** 2.3 + 1e-7


def build():
    return Synth()


def example_inputs():
    return torch.rand(4, 20, 1), torch.rand(4, 20, 1) - 0.5
