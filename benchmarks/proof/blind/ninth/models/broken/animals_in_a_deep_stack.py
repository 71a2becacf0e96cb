r"""Birds told from aeroplanes by a network of many residual blocks.

Source: https://github.com/deep-learning-with-pytorch/dlwpt-code/issues/54
Fault: A list with one block is multiplied, so all ten places hold the same block with the same
    weights.
Cause: (same|single|one|identical|shared?|sharing).{0,80}(block|instance|object|module|weight
    |parameter|layer)\w*|(shar\w+|reus\w+|repeat\w*|referenc\w*).{0,60}(weight|parameter|block
    |instance|module)|list.{0,30}multipl\w*|multipl\w*.{0,30}list|\[.{0,60}\] ?\*
    |weight.?sharing|tied
Place: resblocks?|ResBlock|n_blocks|blocks|Sequential
"""

import torch
import torch.nn.functional as F
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, n_chans):
        super().__init__()
        self.conv = nn.Conv2d(n_chans, n_chans, 3, padding=1, bias=False)
        self.batch_norm = nn.BatchNorm2d(n_chans)
        nn.init.kaiming_normal_(self.conv.weight, nonlinearity="relu")
        nn.init.constant_(self.batch_norm.weight, 0.5)
        nn.init.zeros_(self.batch_norm.bias)

    def forward(self, x):
        return torch.relu(self.batch_norm(self.conv(x))) + x


class NetResDeep(nn.Module):
    def __init__(self, n_chans1=32, n_blocks=10):
        super().__init__()
        self.n_chans1 = n_chans1
        self.conv1 = nn.Conv2d(3, n_chans1, 3, padding=1)
        self.resblocks = nn.Sequential(*(n_blocks * [ResBlock(n_chans=n_chans1)]))  # here
        self.fc1 = nn.Linear(8 * 8 * n_chans1, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, x):
        out = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        out = self.resblocks(out)
        out = F.max_pool2d(out, 2)
        out = out.view(-1, 8 * 8 * self.n_chans1)
        return self.fc2(torch.relu(self.fc1(out)))


def build():
    return NetResDeep()


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
