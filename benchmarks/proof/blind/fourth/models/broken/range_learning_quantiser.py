r"""Small network with fake quantisation whose scale is meant to be learned.

Source: https://github.com/pytorch/ao/pull/2280
Fault: The backward of the quantiser returns None for the scale, so no scale is ever learned.
Cause: scale\w*.*(no grad|without.*grad|never|not|zero|None|un(used|trained))
    |(no|without|None|zero) .*grad\w*.*scale
Place: \.scale\b|_Quantise|FakeQuantizer
"""

import torch
import torch.nn.functional as F
from torch import nn


class _Quantise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, low, high):
        q = torch.round(x / scale)
        ctx.save_for_backward((q >= low) & (q <= high))
        return q.clamp(low, high) * scale

    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return grad * inside, None, None, None  # here


class FakeQuantizer(nn.Module):
    def __init__(self, init, bits=4):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(init))
        self.low, self.high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def forward(self, x):
        return _Quantise.apply(x, self.scale, self.low, self.high)


class QuantisedLinear(nn.Linear):
    def __init__(self, *size):
        super().__init__(*size)
        self.activation_fake_quantizer = FakeQuantizer(0.4)
        self.weight_fake_quantizer = FakeQuantizer(self.weight.abs().max().item() / 8)

    def forward(self, x):
        x = self.activation_fake_quantizer(x)
        return F.linear(x, self.weight_fake_quantizer(self.weight), self.bias)


def build():
    return nn.Sequential(QuantisedLinear(16, 32), nn.ReLU(), QuantisedLinear(32, 4))


def example_inputs():
    return torch.randn(12, 16)
