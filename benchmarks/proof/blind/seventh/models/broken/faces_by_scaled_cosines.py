r"""Identity of a face from the cosines between its embedding and one vector per person.

Source: https://github.com/zergtant/pytorch-handbook/issues/69
Fault: The backward pass of the scaling function returns the incoming gradient as it is; it should
    multiply it by the constant.
Cause: (backward|MulConstant|custom|autograd\.Function|hand.?written|derivative).{0,140}(constant
    |scale|multipl|factor|wrong|incorrect|identity|unscaled|\b30|mismatch|match|differ)
    |gradient.{0,80}(multipl|factor|unscaled|by the constant|times too small)
Place: backward|MulConstant|grad_output|grad_\w+
"""

import torch
import torch.nn.functional as F
from torch import nn


class MulConstant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None  # here


class FaceTrunk(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.PReLU(16),
            nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.PReLU(32),
            nn.Conv2d(32, 48, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(48),
            nn.PReLU(48),
        )
        self.embed = nn.Sequential(
            nn.Flatten(), nn.Linear(48 * 16, dim, bias=False), nn.BatchNorm1d(dim)
        )

    def forward(self, x):
        return self.embed(self.features(x))


class ScaledCosines(nn.Module):
    def __init__(self, people=20, dim=32, scale=30.0):
        super().__init__()
        self.trunk = FaceTrunk(dim)
        self.weight = nn.Parameter(torch.empty(people, dim))
        nn.init.xavier_uniform_(self.weight)
        self.scale = scale

    def forward(self, image):
        feature = F.normalize(self.trunk(image))
        cosine = F.linear(feature, F.normalize(self.weight))
        return MulConstant.apply(cosine, self.scale)


def build():
    return ScaledCosines()


def example_inputs():
    return (2 * torch.rand(6, 3, 32, 32) - 1,)
