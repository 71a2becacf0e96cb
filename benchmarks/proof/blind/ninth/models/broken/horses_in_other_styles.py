r"""Picture translator whose normalisation mixes statistics per channel and per picture.

Source: https://github.com/znxlwm/UGATIT-pytorch/issues/30
Fault: The variance is taken along one axis and then again of those variances along the next,
    which is not the variance over both axes.
Cause: var\w*.{0,40}(of|over|applied to|on).{0,30}(the )?var\w*|nested var\w*|(twice
    |successive\w*|repeated\w*|one (axis|dim\w*)|each (axis|dim\w*)|chain\w*|sequential\w*
    |iterat\w*|three times).{0,100}var\w*|var\w*.{0,120}(twice|successive\w*|repeated\w*
    |one (axis|dim\w*) (at|after)|separately|jointly|at once|nested|chain\w*|sequential\w*
    |not the (true|joint|actual))
Place: var\w*|in_var|ln_var|forward|\bILN\b|norm\w*
"""

import torch
from torch import nn


class ILN(nn.Module):
    def __init__(self, features, adaptive, eps=1e-5):
        super().__init__()
        self.eps, self.adaptive = eps, adaptive
        self.rho = nn.Parameter(torch.full((1, features, 1, 1), 0.9 if adaptive else 0.0))
        if not adaptive:
            self.gamma = nn.Parameter(torch.ones(1, features, 1, 1))
            self.beta = nn.Parameter(torch.zeros(1, features, 1, 1))

    def forward(self, x, gamma=None, beta=None):
        in_mean = x.mean((2, 3), keepdim=True)
        in_var = x.var(2, keepdim=True).var(3, keepdim=True)  # here
        ln_mean = x.mean((1, 2, 3), keepdim=True)
        ln_var = x.var(1, keepdim=True).var(2, keepdim=True).var(3, keepdim=True)  # here
        out_in = (x - in_mean) / torch.sqrt(in_var + self.eps)
        out_ln = (x - ln_mean) / torch.sqrt(ln_var + self.eps)
        out = self.rho * out_in + (1 - self.rho) * out_ln
        if self.adaptive:
            return out * gamma[:, :, None, None] + beta[:, :, None, None]
        return out * self.gamma + self.beta


class AdaptiveBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv1 = nn.Conv2d(dim, dim, 3, padding=1, padding_mode="reflect", bias=False)
        self.conv2 = nn.Conv2d(dim, dim, 3, padding=1, padding_mode="reflect", bias=False)
        self.norm1, self.norm2 = ILN(dim, True), ILN(dim, True)

    def forward(self, x, gamma, beta):
        out = torch.relu(self.norm1(self.conv1(x), gamma, beta))
        return x + self.norm2(self.conv2(out), gamma, beta)


class Translator(nn.Module):
    def __init__(self, dim=16, blocks=2):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(3, dim, 7, padding=3, padding_mode="reflect", bias=False),
            nn.InstanceNorm2d(dim),
            nn.ReLU(),
            nn.Conv2d(dim, 2 * dim, 3, stride=2, padding=1, bias=False),
            nn.InstanceNorm2d(2 * dim),
            nn.ReLU(),
        )
        self.fc = nn.Sequential(nn.Linear(2 * dim, 2 * dim), nn.ReLU())
        self.gamma, self.beta = nn.Linear(2 * dim, 2 * dim), nn.Linear(2 * dim, 2 * dim)
        self.blocks = nn.ModuleList(AdaptiveBlock(2 * dim) for _ in range(blocks))
        self.up = nn.Upsample(scale_factor=2)
        self.conv_up = nn.Conv2d(2 * dim, dim, 3, padding=1, bias=False)
        self.norm_up = ILN(dim, False)
        self.out = nn.Conv2d(dim, 3, 7, padding=3, padding_mode="reflect", bias=False)

    def forward(self, x):
        x = self.down(x)
        style = self.fc(x.mean((2, 3)))
        gamma, beta = self.gamma(style), self.beta(style)
        for block in self.blocks:
            x = block(x, gamma, beta)
        x = torch.relu(self.norm_up(self.conv_up(self.up(x))))
        return torch.tanh(self.out(x))


def build():
    return Translator()


def example_inputs():
    return (torch.rand(2, 3, 32, 32) * 2 - 1,)
