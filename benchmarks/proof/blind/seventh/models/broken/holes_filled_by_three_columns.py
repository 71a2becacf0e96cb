r"""Filling of holes in pictures by three columns of convolutions with different sizes.

Source: https://github.com/shepnerd/inpainting_gmcnn/issues/68
Fault: The second layer of the column with small filters reads the features of the column with
    middle filters, so its own first layer does nothing.
Cause: (conv3_1|\bh3\b|first (layer|conv)\w*|small (column|branch)|third (column
    |branch)).{0,100}(unused|never (used|read)|not used|ignored|dead|lost|discard|overwrit
    |no effect)
    |(reads?|takes?|\bfed\b|gets|uses?|passed|given|called|input).{0,80}(wrong (input|variable
    |branch|column|tensor)|\bh5\b|other (column|branch)|middle)
    |(unused|ignored|overwritten|discarded|dead).{0,60}(conv3_1|\bh3\b)
    |\bh5\b.{0,60}(instead|\bh3\b)|copy.?paste
Place: \bh3\b|\bh5\b|conv3_\d
"""

import torch
import torch.nn.functional as F
from torch import nn


def conv(cin, cout, k, dilation=1):
    return nn.Conv2d(cin, cout, k, padding=dilation * (k // 2), dilation=dilation)


class ThreeColumns(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.conv7_1, self.conv7_2 = conv(4, width, 7), conv(width, 2 * width, 7)
        self.conv5_1, self.conv5_2 = conv(4, width, 5), conv(width, 2 * width, 5)
        self.conv3_1, self.conv3_2 = conv(4, width, 3), conv(width, 2 * width, 3)
        self.far7, self.far5 = conv(2 * width, 2 * width, 3, 4), conv(2 * width, 2 * width, 3, 2)
        self.far3 = conv(2 * width, 2 * width, 3)
        self.join = nn.Sequential(conv(6 * width, width, 3), nn.ELU(), conv(width, 3, 3))

    def forward(self, picture, hole):
        x = torch.cat([picture * (1 - hole), hole], dim=1)
        h7 = F.elu(self.conv7_1(x))
        h7 = F.elu(self.conv7_2(F.max_pool2d(h7, 2)))
        h7 = F.elu(self.far7(h7))
        h5 = F.elu(self.conv5_1(x))
        h3 = F.elu(self.conv3_1(x))
        h3 = F.elu(self.conv3_2(F.max_pool2d(h5, 2)))  # here
        h3 = F.elu(self.far3(h3))
        h5 = F.elu(self.conv5_2(F.max_pool2d(h5, 2)))
        h5 = F.elu(self.far5(h5))
        y = F.interpolate(torch.cat([h7, h5, h3], dim=1), scale_factor=2.0)
        y = self.join(y).clamp(-1, 1)
        return picture * (1 - hole) + y * hole


def build():
    return ThreeColumns()


def example_inputs():
    hole = torch.zeros(4, 1, 24, 24)
    hole[:, :, 8:16, 6:14] = 1
    return 2 * torch.rand(4, 3, 24, 24) - 1, hole
