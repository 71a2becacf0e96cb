r"""A U-shaped net with channel attention for CT slices, binary cross entropy on its output.

Source: http://www.dtcms.com/a/394596.html
Fault: A ReLU is applied to the output of the last convolution, which goes into a loss on logits: no
    logit can be below zero, a pixel can't get less than one half, and the loss stays near 0.693.
Cause: relu.{0,120}(last|final|output|end\b|logit|head|loss)|(last|final|output|logits?
    |head)\b.{0,80}relu
    |(logits?|outputs?) .{0,80}(negative|below zero|non-?negative|clipped|clamped|cut|at least 0\.5)
    |activation .{0,40}(output|last|final|logit)
Place: outc|last_activation|relu|forward|UCTransNet
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def get_activation(activation_type):
    activation_type = activation_type.lower()
    if activation_type == 'gelu':
        return nn.GELU()
    return nn.ReLU()


class ConvBatchNorm(nn.Module):
    """(convolution => [BN] => ReLU)"""

    def __init__(self, in_channels, out_channels, activation='ReLU'):
        super(ConvBatchNorm, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)
        self.norm = nn.BatchNorm2d(out_channels)
        self.activation = get_activation(activation)

    def forward(self, x):
        return self.activation(self.norm(self.conv(x)))


def make_n_conv(in_channels, out_channels, nb_conv, activation='ReLU'):
    layers = [ConvBatchNorm(in_channels, out_channels, activation)]
    for _ in range(nb_conv - 1):
        layers.append(ConvBatchNorm(out_channels, out_channels, activation))
    return nn.Sequential(*layers)


class CCA(nn.Module):
    """channel cross attention of a skip connection and the decoder"""

    def __init__(self, F_g, F_x):
        super().__init__()
        self.mlp_x = nn.Linear(F_x, F_x)
        self.mlp_g = nn.Linear(F_g, F_x)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, g, x):
        channel_att_x = self.mlp_x(x.mean(dim=(2, 3)))
        channel_att_g = self.mlp_g(g.mean(dim=(2, 3)))
        scale = torch.sigmoid((channel_att_x + channel_att_g) / 2.0)[:, :, None, None]
        return self.relu(x * scale)


class UpBlock_attention(nn.Module):
    def __init__(self, in_channels, skip_channels, out_channels, nb_conv=2):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2)
        self.coatt = CCA(F_g=in_channels, F_x=skip_channels)
        self.nConvs = make_n_conv(in_channels + skip_channels, out_channels, nb_conv)

    def forward(self, x, skip_x):
        up = self.up(x)
        skip_x_att = self.coatt(g=up, x=skip_x)
        return self.nConvs(torch.cat([skip_x_att, up], dim=1))


class UCTransNet(nn.Module):
    def __init__(self, n_channels=1, n_classes=1, base=8):
        super().__init__()
        self.n_classes = n_classes
        self.inc = ConvBatchNorm(n_channels, base)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), make_n_conv(base, base * 2, 2))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), make_n_conv(base * 2, base * 4, 2))
        self.up2 = UpBlock_attention(base * 4, base * 2, base * 2)
        self.up1 = UpBlock_attention(base * 2, base, base)
        self.outc = nn.Conv2d(base, n_classes, kernel_size=(1, 1), stride=(1, 1))
        self.last_activation = nn.ReLU()

    def forward(self, x, mask=None):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up2(x3, x2)
        x = self.up1(x, x1)
        logits = self.last_activation(self.outc(x))  # here
        if mask is None:
            return logits
        return F.binary_cross_entropy_with_logits(logits, mask)


def build():
    torch.manual_seed(0)
    return UCTransNet()


def example_inputs():
    torch.manual_seed(1)
    mask = torch.zeros(6, 1, 32, 32)
    for i in range(6):
        r, c = torch.randint(2, 20, (2,)).tolist()
        mask[i, :, r:r + 9, c:c + 8] = 1.0
    x = mask * 0.8 + 0.3 * torch.randn(6, 1, 32, 32)
    return x, mask
