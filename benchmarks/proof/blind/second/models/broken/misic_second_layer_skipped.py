"""An unmixing network with skip connections: convolutions, then abundances of the materials.

Source: https://github.com/inria-thoth/HySUPP/issues/3
Fault: layer2 is built but the forward goes from layer1 to layer3, so its parameters take no part
    and never get a gradient.
Cause: unused|(not|never) (used|called)|skipp|no gradient|never gets? a gradient|no part
Place: layer2
"""

import torch
from torch import nn


def conv_block(i, o, k):
    return nn.Sequential(
        nn.ReflectionPad2d((k - 1) // 2),
        nn.Conv2d(i, o, k),
        nn.BatchNorm2d(o),
        nn.LeakyReLU(0.1),
    )


class MiSiCNet(nn.Module):
    def __init__(self, bands=24, hidden=32, skip=4, endmembers=4):
        super().__init__()
        self.layer1 = conv_block(bands, hidden, 3)
        self.layer2 = conv_block(hidden, hidden, 3)
        self.layerskip = conv_block(bands, skip, 1)
        self.layer3 = conv_block(hidden + skip, hidden, 3)
        self.layer4 = nn.Conv2d(hidden, endmembers, 1)
        self.decoder = nn.Linear(endmembers, bands, bias=False)

    def forward(self, y):
        x1 = self.layer1(y)
        xskip = self.layerskip(y)
        xcat = torch.cat([x1, xskip], 1)  # here
        abundance = torch.softmax(self.layer4(self.layer3(xcat)), 1)
        recon = self.decoder(abundance.movedim(1, -1)).movedim(-1, 1)
        return recon, abundance


def example_inputs():
    return (torch.rand(1, 24, 20, 20),)
