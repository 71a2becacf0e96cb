r"""A small WaveNet with gated residual layers, that gives the chances of the next sample.

Source: https://github.com/r9y9/wavenet_vocoder/issues/131
Healthy: the convolutions pad on both sides, which looks as if they saw the future, but the surplus
    on the right is cut off afterwards, so that what is left is causal. The sums are scaled by
    square roots on purpose, and the residual output of the last layer has no reader by design.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


def Conv1d(in_channels, out_channels, kernel_size, dropout=0, **kwargs):
    m = nn.Conv1d(in_channels, out_channels, kernel_size, **kwargs)
    nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
    if m.bias is not None:
        nn.init.constant_(m.bias, 0)
    return nn.utils.parametrizations.weight_norm(m)


def Conv1d1x1(in_channels, out_channels, bias=True):
    return Conv1d(in_channels, out_channels, kernel_size=1, padding=0, dilation=1, bias=bias)


class ResidualConv1dGLU(nn.Module):
    """Residual dilated conv1d + Gated linear unit"""

    def __init__(self, residual_channels, gate_channels, kernel_size, skip_out_channels=None,
                 dropout=1 - 0.95, padding=None, dilation=1, causal=True, bias=True):
        super(ResidualConv1dGLU, self).__init__()
        self.dropout = dropout
        if skip_out_channels is None:
            skip_out_channels = residual_channels
        if padding is None:
            # no future time stamps available
            if causal:
                padding = (kernel_size - 1) * dilation
            else:
                padding = (kernel_size - 1) // 2 * dilation
        self.causal = causal

        self.conv = Conv1d(residual_channels, gate_channels, kernel_size,
                           padding=padding, dilation=dilation, bias=bias)

        # conv output is split into two groups
        gate_out_channels = gate_channels // 2
        self.conv1x1_out = Conv1d1x1(gate_out_channels, residual_channels, bias=bias)
        self.conv1x1_skip = Conv1d1x1(gate_out_channels, skip_out_channels, bias=bias)

    def forward(self, x):
        residual = x
        x = F.dropout(x, p=self.dropout, training=self.training)
        splitdim = 1
        x = self.conv(x)
        # remove future time steps
        x = x[:, :, :residual.size(-1)] if self.causal else x

        a, b = x.split(x.size(splitdim) // 2, dim=splitdim)
        x = torch.tanh(a) * torch.sigmoid(b)

        # For skip connection
        s = self.conv1x1_skip(x)

        # For residual connection
        x = self.conv1x1_out(x)

        x = (x + residual) * math.sqrt(0.5)
        return x, s


class WaveNet(nn.Module):

    def __init__(self, out_channels=32, layers=6, stacks=2, residual_channels=24,
                 gate_channels=48, skip_out_channels=24, kernel_size=3, dropout=1 - 0.95):
        super(WaveNet, self).__init__()
        assert layers % stacks == 0
        layers_per_stack = layers // stacks
        self.first_conv = Conv1d1x1(out_channels, residual_channels)

        self.conv_layers = nn.ModuleList()
        for layer in range(layers):
            dilation = 2**(layer % layers_per_stack)
            conv = ResidualConv1dGLU(
                residual_channels, gate_channels,
                kernel_size=kernel_size,
                skip_out_channels=skip_out_channels,
                bias=True,
                dilation=dilation, dropout=dropout)
            self.conv_layers.append(conv)

        self.last_conv_layers = nn.ModuleList([
            nn.ReLU(inplace=True),
            Conv1d1x1(skip_out_channels, skip_out_channels),
            nn.ReLU(inplace=True),
            Conv1d1x1(skip_out_channels, out_channels),
        ])

    def forward(self, x):
        # Feed data to network
        x = self.first_conv(x)
        skips = 0
        for f in self.conv_layers:
            x, h = f(x)
            skips = skips + h
        skips = skips * math.sqrt(1.0 / len(self.conv_layers))

        x = skips
        for f in self.last_conv_layers:
            x = f(x)
        return x


def build():
    torch.manual_seed(0)
    return WaveNet()


def example_inputs():
    torch.manual_seed(1)
    t = torch.arange(120)
    phase, speed = torch.rand(6, 1) * 6, 0.1 + 0.3 * torch.rand(6, 1)
    wave = ((torch.sin(speed * t + phase) + 1) * 15.99).long()
    return (F.one_hot(wave, 32).float().transpose(1, 2),)
