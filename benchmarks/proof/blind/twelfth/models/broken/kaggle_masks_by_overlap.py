r"""A small encoder and decoder for masks whose loss is a soft Dice score over several classes.

Source: https://github.com/fastai/fastai/pull/3439
Fault: Intersection and union are summed over all dimensions, the class dimension too, before they
    are divided; the frequent background makes the score good although no other class is found.
Cause: (sum\w*|reduc\w*|pool\w*|averag\w*|total\w*|add\w*)\b.{0,120}(class|channel|all (the )?dim)
    |(class|channel)\w* .{0,60}(dim|axis).{0,60}(sum|reduc|included|together|mixed|lump)
    |(per|for each|for every|each)[ -]class|background .{0,40}(dominat|hides|outweigh)
Place: DiceLoss|sum|inter\w*|union
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DiceLoss:
    "Dice loss for segmentation"
    def __init__(self, axis=1, smooth=1e-6):
        self.axis = axis
        self.smooth = smooth

    def __call__(self, pred, targ):
        targ = self._one_hot(targ, pred.shape[self.axis])
        pred = self.activation(pred)
        assert pred.shape == targ.shape
        inter = (pred * targ).sum()  # here
        union = (pred + targ).sum()  # here
        loss = 1 - (2. * inter + self.smooth) / (union + self.smooth)
        return loss.mean()

    @staticmethod
    def _one_hot(x, classes, axis=1):
        "Creates one binary mask per class"
        return torch.stack([torch.where(x == c, 1, 0) for c in range(classes)], axis=axis).float()

    def activation(self, x):
        return F.softmax(x, dim=self.axis)


class ConvLayer(nn.Sequential):
    def __init__(self, ni, nf, ks=3, stride=1):
        super().__init__(
            nn.Conv2d(ni, nf, ks, stride=stride, padding=ks // 2, bias=False),
            nn.BatchNorm2d(nf),
            nn.ReLU())


class UnetBlock(nn.Module):
    def __init__(self, up_in_c, x_in_c, nf):
        super().__init__()
        self.shuf = nn.Sequential(nn.Conv2d(up_in_c, up_in_c * 2, 1), nn.ReLU(),
                                  nn.PixelShuffle(2))
        self.bn = nn.BatchNorm2d(x_in_c)
        ni = up_in_c // 2 + x_in_c
        self.conv1 = ConvLayer(ni, nf)
        self.conv2 = ConvLayer(nf, nf)

    def forward(self, up_in, skip):
        up_out = self.shuf(up_in)
        cat_x = F.relu(torch.cat([up_out, self.bn(skip)], dim=1))
        return self.conv2(self.conv1(cat_x))


class DynamicUnet(nn.Module):
    def __init__(self, n_in=3, n_out=4, nf=12):
        super().__init__()
        self.enc1 = nn.Sequential(ConvLayer(n_in, nf), ConvLayer(nf, nf))
        self.enc2 = nn.Sequential(ConvLayer(nf, nf * 2, stride=2), ConvLayer(nf * 2, nf * 2))
        self.enc3 = nn.Sequential(ConvLayer(nf * 2, nf * 4, stride=2), ConvLayer(nf * 4, nf * 4))
        self.dec2 = UnetBlock(nf * 4, nf * 2, nf * 2)
        self.dec1 = UnetBlock(nf * 2, nf, nf)
        self.head = nn.Conv2d(nf, n_out, 1)
        self.loss_func = DiceLoss()

    def forward(self, x, mask=None):
        e1 = self.enc1(x)
        e2 = self.enc2(e1)
        e3 = self.enc3(e2)
        d2 = self.dec2(e3, e2)
        d1 = self.dec1(d2, e1)
        pred = self.head(d1)
        if mask is None:
            return pred
        return self.loss_func(pred, mask)


def build():
    torch.manual_seed(0)
    return DynamicUnet()


def example_inputs():
    torch.manual_seed(1)
    mask = torch.zeros(6, 16, 16, dtype=torch.long)
    mask[:3, 2:5, 2:5] = 1
    mask[2:, 9:12, 3:6] = 2
    mask[4:, 5:7, 10:13] = 3
    x = torch.randn(6, 3, 16, 16) * 0.5
    x[:, 0] += (mask == 1).float() * 2
    x[:, 1] += (mask == 2).float() * 2
    x[:, 2] += (mask == 3).float() * 2
    return x, mask
