r"""A residual net for tumours whose loss is a generalized Dice score, the classes weighted by size.

Source: https://github.com/Project-MONAI/MONAI/issues/369
Fault: The weights of the classes are multiplied into numerator and denominator and then divided
    class by class, so they cancel out; sums over the classes must be taken before the division.
Cause: cancel\w*|(weight|w\b)\w*.{0,120}(no effect|without effect|drop(s|ped)? out|divid\w+ out
    |lost|same|vanish|void|nothing)|(sum\w*|reduc\w*|add\w*) .{0,60}(before|first|prior).{0,40}divi
    |divi\w+ .{0,60}(before|class by class|per class|each class|element|not after|instead of).{0,60}
    |(ratio|quotient) .{0,60}(per|each|every) class
Place: GeneralizedDiceLoss|weights?|w\b|f\b|numer\w*|denom\w*|intersection
"""

import torch
import torch.nn as nn


def one_hot(labels, num_classes):
    shape = list(labels.shape)
    shape[1] = num_classes
    o = torch.zeros(shape, device=labels.device)
    return o.scatter_(1, labels.long(), 1)


class GeneralizedDiceLoss(nn.Module):
    """
    Compute the generalised Dice loss defined in: Sudre, C. et. al. (2017)
    """

    def __init__(self, include_background=True, to_onehot_y=True, softmax=True, w_type='square'):
        super().__init__()
        self.include_background = include_background
        self.to_onehot_y = to_onehot_y
        self.softmax = softmax
        if w_type == 'simple':
            self.w_func = torch.reciprocal
        elif w_type == 'square':
            self.w_func = lambda x: torch.reciprocal(x * x)
        else:
            self.w_func = torch.ones_like

    def forward(self, pred, ground, smooth=1e-5):
        n_pred_ch = pred.shape[1]
        if self.softmax:
            pred = torch.softmax(pred, 1)
        if self.to_onehot_y:
            ground = one_hot(ground, n_pred_ch)
        if not self.include_background:
            ground = ground[:, 1:]
            pred = pred[:, 1:]
        assert ground.shape == pred.shape

        # reducing only spatial dimensions (not batch nor channels)
        reduce_axis = list(range(2, len(pred.shape)))
        intersection = torch.sum(ground * pred, reduce_axis)

        ground_o = torch.sum(ground, reduce_axis)
        pred_o = torch.sum(pred, reduce_axis)
        denominator = ground_o + pred_o

        w = self.w_func(ground_o.float())
        for b in w:
            infs = torch.isinf(b)
            b[infs] = 0.0
            b[infs] = torch.max(b)

        f = 1.0 - (2.0 * (intersection * w) + smooth) / (denominator * w + smooth)  # here
        return torch.mean(f)


class ResidualUnit(nn.Module):
    def __init__(self, cin, cout, strides=1):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(cin, cout, 3, strides, 1), nn.InstanceNorm2d(cout), nn.PReLU(),
            nn.Conv2d(cout, cout, 3, 1, 1), nn.InstanceNorm2d(cout), nn.PReLU())
        self.residual = nn.Identity()
        if strides != 1 or cin != cout:
            self.residual = nn.Conv2d(cin, cout, 3 if strides != 1 else 1, strides,
                                      1 if strides != 1 else 0)

    def forward(self, x):
        return self.conv(x) + self.residual(x)


class UNet(nn.Module):
    def __init__(self, in_channels=2, out_channels=4, channels=(8, 16, 32)):
        super().__init__()
        c = channels
        self.down1 = ResidualUnit(in_channels, c[0])
        self.down2 = ResidualUnit(c[0], c[1], 2)
        self.bottom = ResidualUnit(c[1], c[2], 2)
        self.up2 = nn.ConvTranspose2d(c[2], c[1], 2, 2)
        self.conv2 = ResidualUnit(c[1] * 2, c[1])
        self.up1 = nn.ConvTranspose2d(c[1], c[0], 2, 2)
        self.conv1 = ResidualUnit(c[0] * 2, c[0])
        self.out = nn.Conv2d(c[0], out_channels, 1)
        self.loss = GeneralizedDiceLoss()

    def forward(self, x, label=None):
        d1 = self.down1(x)
        d2 = self.down2(d1)
        b = self.bottom(d2)
        u2 = self.conv2(torch.cat([self.up2(b), d2], 1))
        u1 = self.conv1(torch.cat([self.up1(u2), d1], 1))
        y = self.out(u1)
        if label is None:
            return y
        return self.loss(y, label)


def build():
    torch.manual_seed(0)
    return UNet()


def example_inputs():
    torch.manual_seed(1)
    label = torch.zeros(4, 1, 24, 24, dtype=torch.long)
    label[:, :, 4:16, 4:16] = 1
    label[:, :, 7:11, 7:11] = 2
    label[:, :, 8:10, 8:10] = 3
    x = torch.randn(4, 2, 24, 24) * 0.4 + torch.cat([label, (label > 1).long()], 1).float()
    return x, label
