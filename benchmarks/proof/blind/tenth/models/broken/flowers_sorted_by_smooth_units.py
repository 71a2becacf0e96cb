r"""Kinds of flowers, by a small net with a self-gated smooth unit and its own backward pass.

Source: https://github.com/digantamisra98/Mish/issues/11
Fault: The denominator of the hand-written derivative has exp(2x) twice where twice exp(x) belongs,
    so the gradients of the unit are wrong.
Cause: (derivative|gradient|backward|delta|denominator).{0,160}(wrong|exp|incorrect|not match\w*|differ\w*|false|instead|typo|disagree\w*|e\^)
    |(wrong|incorrect|false|mistaken).{0,60}(derivative|gradient|backward|delta|denominator)|exp\(2\s?\*?\s?x\)
Place: \bdelta\b|backward|SmoothUnit|SmoothFunction
"""

import torch
from torch import nn
from torch.nn import functional as F


class SmoothFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.tanh(F.softplus(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x = x.clamp(-20, 20)
        e1, e2, e3 = torch.exp(x), torch.exp(2 * x), torch.exp(3 * x)
        omega = 4 * (x + 1) + 4 * e2 + e3 + e1 * (4 * x + 6)
        delta = 2 * e2 + e2 + 2  # here
        return grad_output * e1 * omega / delta.square()


class SmoothUnit(nn.Module):
    def forward(self, x):
        return SmoothFunction.apply(x)


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            SmoothUnit(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.skip = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.skip = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )
        self.act = SmoothUnit()

    def forward(self, x):
        return self.act(self.body(x) + self.skip(x))


class FlowerNet(nn.Module):
    def __init__(self, kinds=8):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), SmoothUnit()
        )
        self.stages = nn.Sequential(Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2))
        self.fc = nn.Linear(64, kinds)

    def forward(self, x):
        return self.fc(self.stages(self.stem(x)).mean((2, 3)))


def build():
    return FlowerNet()


def example_inputs():
    return (torch.randn(8, 3, 24, 24),)
