r"""A ReLoRA style linear layer added to a frozen projection.

Source: https://github.com/Guitaricet/relora/issues/18
    https://github.com/microsoft/LoRA/issues/98
Fault: A and B both start at zero, each gets its gradient through the other, so neither ever
    moves.
Cause: init|(start\w*|both|factors).*(zero|\b0\b)|zero.*(both|factors)
Place: lora_A|lora_B
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class ReLoRaLinear(nn.Module):
    def __init__(self, in_features, out_features, r=4, lora_alpha=32):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features), requires_grad=False)
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        self.lora_A = nn.Linear(in_features, r, bias=False)
        self.lora_B = nn.Linear(r, out_features, bias=False)
        nn.init.zeros_(self.lora_A.weight)  # here
        nn.init.zeros_(self.lora_B.weight)
        self.scaling = lora_alpha / r

    def forward(self, x):
        return F.linear(x, self.weight) + self.lora_B(self.lora_A(x)) * self.scaling


class Adapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = ReLoRaLinear(16, 32)
        self.down = ReLoRaLinear(32, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(x + self.down(F.silu(self.up(x))))


def build():
    return Adapter()


def example_inputs():
    return (torch.randn(8, 16),)
