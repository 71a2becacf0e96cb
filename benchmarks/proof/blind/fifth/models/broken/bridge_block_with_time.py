r"""Generator with residual blocks that are told the time step and a style.

Source: https://github.com/cyclomon/UNSB/issues/29
Fault: Each layer of a block is fed the input of the block, so only the last layer has an effect.
Cause: unused|no (gradient|effect|influence)|never (used|reach\w*)
    |not (used|part|reach\w*|train\w*)|(without|get\w* no|no) gradient
    |(overwrit|discard|dead|ignor)\w*|only the last
Place: \bconv_block\b
"""

import torch
from torch import nn


class ResnetBlockCond(nn.Module):
    def __init__(self, dim, emb):
        super().__init__()
        self.conv_block = nn.ModuleList(
            [
                nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(dim, dim, 3)),
                nn.InstanceNorm2d(dim, affine=True),
                nn.ReLU(),
                nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(dim, dim, 3)),
                nn.InstanceNorm2d(dim, affine=True),
            ]
        )
        self.style = nn.Linear(emb, dim)
        self.dense = nn.Linear(emb, dim)

    def forward(self, x, time, z):
        x = x + self.dense(time)[:, :, None, None] + self.style(z)[:, :, None, None]
        for layer in self.conv_block:
            out = layer(x)  # here
        return x + out


class ConditionalGenerator(nn.Module):
    def __init__(self, ngf=16, emb=32, steps=5):
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(3, ngf, 3, stride=2, padding=1), nn.ReLU())
        self.time = nn.Embedding(steps, emb)
        self.blocks = nn.ModuleList(ResnetBlockCond(ngf, emb) for _ in range(3))
        self.leave = nn.Sequential(nn.ConvTranspose2d(ngf, 3, 4, stride=2, padding=1), nn.Tanh())

    def forward(self, x, step, z):
        h, time = self.enter(x), self.time(step)
        for block in self.blocks:
            h = block(h, time, z)
        return self.leave(h)


def build():
    return ConditionalGenerator()


def example_inputs():
    return torch.randn(3, 3, 16, 16), torch.randint(0, 5, (3,)), torch.randn(3, 32)
