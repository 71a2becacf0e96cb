r"""House number reader with weights of one bit and activations of four.

Source: https://github.com/zzzxxxttt/pytorch_DoReFaNet
Odd: Rounding is in an autograd Function that passes the gradient on unchanged, and the first
    and last layer are left in full precision.
"""

import torch
import torch.nn.functional as F
from torch import nn


class UniformQuantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bits):
        if bits == 32:
            return x.clone()
        if bits == 1:
            return torch.sign(x)
        steps = float(2**bits - 1)
        return torch.round(x * steps) / steps

    @staticmethod
    def backward(ctx, grad):
        return grad.clone(), None


def quantize_weight(weight, bits):
    if bits == 32:
        return torch.tanh(weight)
    if bits == 1:
        scale = weight.abs().mean().detach()
        return UniformQuantize.apply(weight / scale, 1) * scale
    weight = torch.tanh(weight)
    peak = weight.abs().max().detach()
    weight = weight / 2 / peak + 0.5
    return peak * (2 * UniformQuantize.apply(weight, bits) - 1)


class QuantizedConv(nn.Conv2d):
    def __init__(self, *args, bits, **kwargs):
        super().__init__(*args, **kwargs)
        self.bits = bits

    def forward(self, x):
        weight = quantize_weight(self.weight, self.bits)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


class QuantizedActivation(nn.Module):
    def __init__(self, bits):
        super().__init__()
        self.bits = bits

    def forward(self, x):
        return UniformQuantize.apply(x.clamp(0, 1), self.bits)


class HouseNumbers(nn.Module):
    def __init__(self, weight_bits=1, bits=4, classes=10):
        super().__init__()
        layers = [nn.Conv2d(3, 24, 5, padding=2), nn.MaxPool2d(2), QuantizedActivation(bits)]
        for inputs, outputs in ((24, 32), (32, 48), (48, 64)):
            layers += [
                QuantizedConv(inputs, outputs, 3, padding=1, bias=False, bits=weight_bits),
                nn.BatchNorm2d(outputs),
                QuantizedActivation(bits),
            ]
            if inputs != 24:
                layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.drop, self.fc = nn.Dropout(0.5), nn.Linear(64 * 16, classes)

    def forward(self, x):
        return self.fc(self.drop(self.features(x).flatten(1)))


def build():
    return HouseNumbers()


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
