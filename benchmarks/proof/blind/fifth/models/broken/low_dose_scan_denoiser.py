r"""Residual encoder and decoder that removes the noise of tomography with a low dose.

Source: https://github.com/SSinyu/RED-CNN/issues/8
Fault: One convolution and one transposed convolution serve all stages that should have their own.
Cause: shar(ed?|es|ing)\b|same (weights?|layer|module|conv\w*|parameters?)
    |(used|called|runs?|applied) (\w+ ){0,3}(times|more than once|twice)|reus\w+|several times
    |serves? (all|several)
Place: \bconv(_t)?\b(?!_)
"""

import torch
from torch import nn


class REDCNN(nn.Module):
    def __init__(self, out_ch=24):
        super().__init__()
        self.conv_first = nn.Conv2d(1, out_ch, 5)
        self.conv = nn.Conv2d(out_ch, out_ch, 5)  # here
        self.conv_t = nn.ConvTranspose2d(out_ch, out_ch, 5)  # here
        self.conv_t_last = nn.ConvTranspose2d(out_ch, 1, 5)
        self.relu = nn.ReLU()

    def forward(self, x):
        residual_1 = x
        out = self.relu(self.conv_first(x))
        out = self.relu(self.conv(out))
        residual_2 = out
        out = self.relu(self.conv(out))
        out = self.relu(self.conv(out))
        residual_3 = out
        out = self.relu(self.conv(out))

        out = self.conv_t(out) + residual_3
        out = self.conv_t(self.relu(out))
        out = self.conv_t(self.relu(out)) + residual_2
        out = self.conv_t(self.relu(out))
        out = self.conv_t_last(self.relu(out)) + residual_1
        return self.relu(out)


def build():
    return REDCNN()


def example_inputs():
    return torch.rand(4, 1, 32, 32)
