r"""Sequence mixer of invertible blocks that stores only its last output for the backward pass.

Source: https://github.com/RobinBruegger/RevTorch/blob/master/revtorch/revtorch.py
Odd: The forward pass runs under no_grad and a written backward pass rebuilds the inputs of the
    blocks from their outputs; all gradients still arrive.
"""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.f = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU())
        self.g = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.Tanh())

    def forward(self, x):
        x1, x2 = x.chunk(2, dim=-1)
        y1 = x1 + self.f(x2)
        return torch.cat([y1, x2 + self.g(y1)], dim=-1)

    def step_back(self, y, dy):
        y1, y2 = y.chunk(2, dim=-1)
        dy1, dy2 = dy.chunk(2, dim=-1)
        with torch.enable_grad():
            y1 = y1.detach().requires_grad_()
            g = self.g(y1)
            g.backward(dy2)
        with torch.no_grad():
            x2 = y2 - g
            dx1 = dy1 + y1.grad
        with torch.enable_grad():
            x2 = x2.detach().requires_grad_()
            f = self.f(x2)
            f.backward(dx1)
        with torch.no_grad():
            x1 = y1.detach() - f
            return torch.cat([x1, x2.detach()], -1), torch.cat([dx1, dy2 + x2.grad], -1)


class Chain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, blocks):
        with torch.no_grad():
            for block in blocks:
                x = block(x)
        ctx.y, ctx.blocks = x.detach(), blocks
        return x

    @staticmethod
    def backward(ctx, dy):
        y = ctx.y
        for block in reversed(ctx.blocks):
            y, dy = block.step_back(y, dy)
        return dy, None


class RebuiltMixer(nn.Module):
    def __init__(self, inputs=6, dim=24, depth=4, classes=5):
        super().__init__()
        self.embed = nn.Linear(inputs, 2 * dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(2 * dim, classes)

    def forward(self, x):
        return self.head(Chain.apply(self.embed(x), self.blocks).mean(1))


def build():
    return RebuiltMixer()


def example_inputs():
    return (torch.randn(6, 10, 6),)
