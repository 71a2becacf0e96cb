r"""A U-Net for six simulated shapes, trained on binary cross entropy and a Dice loss.

Source: https://github.com/usuyama/pytorch-unet/issues/2
Healthy: The net has no activation at the end and gives values outside of zero and one; the loss
    contains the sigmoid, which is why somebody who looks at the raw output misses it.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def double_conv(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(out_channels, out_channels, 3, padding=1),
        nn.ReLU(inplace=True)
    )


def dice_loss(pred, target, smooth=1.):
    pred = pred.contiguous()
    target = target.contiguous()
    intersection = (pred * target).sum(dim=2).sum(dim=2)
    loss = (1 - ((2. * intersection + smooth) / (
        pred.sum(dim=2).sum(dim=2) + target.sum(dim=2).sum(dim=2) + smooth)))
    return loss.mean()


def calc_loss(pred, target, bce_weight=0.5):
    bce = F.binary_cross_entropy_with_logits(pred, target)
    pred = torch.sigmoid(pred)
    dice = dice_loss(pred, target)
    loss = bce * bce_weight + dice * (1 - bce_weight)
    return loss


class UNet(nn.Module):
    def __init__(self, n_class, width=12):
        super().__init__()
        self.dconv_down1 = double_conv(3, width)
        self.dconv_down2 = double_conv(width, width * 2)
        self.dconv_down3 = double_conv(width * 2, width * 4)
        self.maxpool = nn.MaxPool2d(2)
        self.upsample = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.dconv_up2 = double_conv(width * 2 + width * 4, width * 2)
        self.dconv_up1 = double_conv(width * 2 + width, width)
        self.conv_last = nn.Conv2d(width, n_class, 1)

    def forward(self, x, target=None):
        conv1 = self.dconv_down1(x)
        x = self.maxpool(conv1)
        conv2 = self.dconv_down2(x)
        x = self.maxpool(conv2)
        x = self.dconv_down3(x)

        x = self.upsample(x)
        x = torch.cat([x, conv2], dim=1)
        x = self.dconv_up2(x)
        x = self.upsample(x)
        x = torch.cat([x, conv1], dim=1)
        x = self.dconv_up1(x)
        out = self.conv_last(x)
        if target is None:
            return out
        return calc_loss(out, target)


def build():
    torch.manual_seed(0)
    return UNet(n_class=6)


def example_inputs():
    torch.manual_seed(1)
    target = torch.zeros(4, 6, 32, 32)
    colors = torch.rand(6, 3)
    x = torch.zeros(4, 3, 32, 32)
    for i in range(4):
        for k in range(6):
            r, c = torch.randint(0, 24, (2,)).tolist()
            target[i, k, r:r + 5 + k % 3, c:c + 4 + k % 2] = 1
            x[i, :, r:r + 5 + k % 3, c:c + 4 + k % 2] = colors[k][:, None, None]
    return x + 0.05 * torch.randn_like(x), target
