r"""A small segmentation net with a weighted sum of cross entropy, dice and focal loss.

Source: https://github.com/achaiah/pywick/issues/7
Fault: the member that is named dice is a second BCE loss, the dice loss in this file is never made;
    the sum has no overlap term and small bodies are lost.
Cause: dice.{0,120}(bce|cross.?entropy|not|never|wrong|same|missing|instead|unused|absent)
    |(bce|cross.?entropy).{0,100}(dice|twice|two times|double|instead of)
    |(overlap|intersection).{0,80}(missing|no|not|never|absent)|SoftDiceLoss
Place: dice|BCEDiceFocalLoss|BCELoss2d|SoftDiceLoss
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class BCELoss2d(nn.Module):
    def __init__(self, weight=None, size_average=True):
        super(BCELoss2d, self).__init__()
        self.bce_loss = nn.BCEWithLogitsLoss(weight, reduction='mean' if size_average else 'sum')

    def forward(self, logits, labels):
        logits_flat = logits.view(-1)
        labels_flat = labels.view(-1)
        return self.bce_loss(logits_flat, labels_flat)


class SoftDiceLoss(nn.Module):
    def __init__(self, smooth=1.0):
        super(SoftDiceLoss, self).__init__()
        self.smooth = smooth

    def forward(self, logits, labels):
        num = labels.size(0)
        probs = torch.sigmoid(logits)
        m1 = probs.view(num, -1)
        m2 = labels.view(num, -1)
        intersection = (m1 * m2)

        # smooth = 1.
        score = 2. * (intersection.sum(1) + self.smooth) / (
            m1.sum(1) + m2.sum(1) + self.smooth)
        score = 1 - score.sum() / num
        return score


class FocalLoss(nn.Module):
    """
    Weighs the contribution of each sample to the loss based in the classification error.

    Args:
        l: weight of the positive pixels.
        gamma: parameter that controls the focus, if 0 the loss is like plain cross entropy.
    """

    def __init__(self, l=0.5, gamma=1., eps=1e-7):
        super(FocalLoss, self).__init__()
        self.gamma = gamma
        self.l = l
        self.eps = eps

    def forward(self, logits, labels):
        labels = labels.view(-1)
        probs = torch.sigmoid(logits).view(-1)

        losses = -(labels * torch.pow((1. - probs), self.gamma)
                   * torch.log(probs + self.eps) * self.l
                   + (1. - labels) * torch.pow(probs, self.gamma)
                   * torch.log(1. - probs + self.eps) * (1 - self.l))
        loss = torch.mean(losses)

        return loss


class BCEDiceFocalLoss(nn.Module):
    '''
        :param l: weight of the positive pixels in the focal part
        :param weight_of_focal: how much of the focal part goes in
    '''

    def __init__(self, l=0.5, weight_of_focal=1.):
        super(BCEDiceFocalLoss, self).__init__()
        self.bce = BCELoss2d()
        self.dice = BCELoss2d()  # here
        self.focal = FocalLoss(l=l)
        self.weight_of_focal = weight_of_focal

    def forward(self, inputs, targets, **kwargs):
        bce = self.bce(inputs, targets)
        dice = self.dice(inputs, targets)
        focal = self.focal(inputs, targets)
        return bce + dice + self.weight_of_focal * focal


class ConvBn(nn.Module):
    def __init__(self, in_channels, out_channels, dilation=1):
        super(ConvBn, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=dilation, dilation=dilation,
                              bias=False)
        self.bn = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)), inplace=True)


class SegNet(nn.Module):
    def __init__(self, in_channels=1):
        super(SegNet, self).__init__()
        self.down1 = nn.Sequential(ConvBn(in_channels, 16), ConvBn(16, 16))
        self.down2 = nn.Sequential(ConvBn(16, 32), ConvBn(32, 32))
        self.center = nn.Sequential(ConvBn(32, 32, 1), ConvBn(32, 32, 2))
        self.up2 = ConvBn(64, 32)
        self.up1 = ConvBn(48, 16)
        self.logits = nn.Conv2d(16, 1, 1)
        self.criterion = BCEDiceFocalLoss()

    def forward(self, x, mask):
        d1 = self.down1(x)
        d2 = self.down2(F.max_pool2d(d1, 2))
        c = self.center(F.max_pool2d(d2, 2))
        u = F.interpolate(c, scale_factor=2, mode='bilinear', align_corners=False)
        u = self.up2(torch.cat([u, d2], 1))
        u = F.interpolate(u, scale_factor=2, mode='bilinear', align_corners=False)
        u = self.up1(torch.cat([u, d1], 1))
        return self.criterion(self.logits(u), mask)


def build():
    torch.manual_seed(0)
    return SegNet()


def example_inputs():
    torch.manual_seed(1)
    x = 0.4 * torch.randn(8, 1, 24, 24)
    mask = torch.zeros(8, 1, 24, 24)
    for i in range(8):
        r, c = torch.randint(0, 20, (2,)).tolist()
        x[i, :, r:r + 4, c:c + 4] += 1.0
        mask[i, :, r:r + 4, c:c + 4] = 1.0
    return x, mask
