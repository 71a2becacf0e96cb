r"""A generalised residual block that weighs the outputs of all previous layers.

Source: https://github.com/lucidrains/deep-cross-attention/issues/2
Fault: the linear before ReLU starts at zero without a bias: ReLU(0) has gradient zero for ever.
Cause: init|relu|(start|weight).*(zero|\b0\b)
Place: to_aggregate|linear|aggregate
"""

import torch
from torch import nn


class GRN(nn.Module):
    def __init__(self, dim=16, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        linear = nn.Linear(dim, depth + 1, bias=False)
        nn.init.zeros_(linear.weight)  # here
        self.to_aggregate = nn.Sequential(nn.LayerNorm(dim), linear, nn.ReLU())

    def forward(self, tokens):
        outs = [tokens]
        for layer in self.layers:
            outs.append(torch.tanh(layer(outs[-1])))
        weights = self.to_aggregate(outs[-1])
        stacked = torch.stack(outs, dim=-1)
        return outs[-1] + (stacked * weights.unsqueeze(-2)).sum(-1)


def example_inputs():
    return (torch.randn(4, 5, 16),)
