r"""Draws an animal as another kind of animal, with the style given as scales and shifts.

Source: https://github.com/NVlabs/FUNIT/issues/26
Odd: The instance norm calls batch_norm in training mode at all times, with running buffers that
    are never kept, and its weight and bias are set from outside before each call. As the batch is
    folded into the channels, the statistics are those of each picture.
"""

import torch
from torch import nn
from torch.nn import functional as F


class AdaptiveInstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.num_features, self.eps = num_features, eps
        self.weight = None
        self.bias = None
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        b, c = x.shape[:2]
        running_mean = self.running_mean.repeat(b)
        running_var = self.running_var.repeat(b)
        folded = x.contiguous().view(1, b * c, *x.shape[2:])
        out = F.batch_norm(
            folded, running_mean, running_var, self.weight, self.bias, True, 0.1, self.eps
        )
        return out.view(b, c, *x.shape[2:])


class StyledBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3, 1, 1), nn.Conv2d(width, width, 3, 1, 1)
        self.norm1, self.norm2 = AdaptiveInstanceNorm2d(width), AdaptiveInstanceNorm2d(width)

    def forward(self, x):
        return x + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))


class KindTranslator(nn.Module):
    def __init__(self, width=16, style=8, blocks=2):
        super().__init__()
        self.content = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1),
            nn.InstanceNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 4, 2, 1),
            nn.InstanceNorm2d(width),
            nn.ReLU(),
        )
        self.kind = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, style, 4, 2, 1), nn.ReLU()
        )
        self.blocks = nn.ModuleList(StyledBlock(width) for _ in range(blocks))
        self.mlp = nn.Sequential(nn.Linear(style, 32), nn.ReLU(), nn.Linear(32, blocks * 4 * width))
        self.up = nn.Sequential(
            nn.Upsample(scale_factor=2),
            nn.Conv2d(width, width, 5, 1, 2),
            nn.ReLU(),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(width, 3, 5, 1, 2),
            nn.Tanh(),
        )

    def assign(self, params):
        for module in self.blocks.modules():
            if isinstance(module, AdaptiveInstanceNorm2d):
                n = module.num_features
                module.bias = params[:, :n].contiguous().view(-1)
                module.weight = params[:, n : 2 * n].contiguous().view(-1) + 1
                params = params[:, 2 * n :]

    def forward(self, picture, example):
        x = self.content(picture)
        self.assign(self.mlp(self.kind(example).mean((2, 3))))
        for block in self.blocks:
            x = block(x)
        return self.up(x)


def build():
    return KindTranslator()


def example_inputs():
    return 2 * torch.rand(3, 3, 32, 32) - 1, 2 * torch.rand(3, 3, 32, 32) - 1
