r"""A detector of cars by key points in heat maps, with the focal loss of centre points.

Source: https://github.com/maudzung/RTM3D/issues/13
Fault: the loss takes the logarithm of the predicted heat and of 1 minus it without a bound; where
    the sigmoid rounds to 0 or 1 the logarithm is infinite, times 0 it is nan, and the whole loss
    and all gradients become nan.
Cause: (\blog\b|logarithm|torch\.log|log\().{0,120}(zero|\b0\b|clamp|\beps|bound|\binf|\bnan\b
    |unstable|unprotected|numeric|saturat)|(\beps|clamp|bound|zero|\b0\b|saturat|\binf
    |\bnan\b).{0,100}(\blog\b|logarithm|torch\.log|log\()|(missing|no|without) (\beps|epsilon
    |clamp)|sigmoid.{0,60}(saturat|round|exactly|underflow)
Place: log|pos_loss|neg_loss|FocalLoss|_neg_loss|sigmoid
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def _neg_loss(pred, gt, alpha=2, beta=4):
    ''' Modified focal loss. Exactly the same as CornerNet.
        Arguments:
            pred (batch x c x h x w)
            gt_regr (batch x c x h x w)
    '''
    pos_inds = gt.eq(1).float()
    neg_inds = gt.lt(1).float()
    neg_weights = torch.pow(1 - gt, beta)
    loss = 0

    pos_loss = torch.log(pred) * torch.pow(1 - pred, alpha) * pos_inds  # here
    neg_loss = torch.log(1 - pred) * torch.pow(pred, alpha) * neg_weights * neg_inds  # here

    num_pos = pos_inds.float().sum()
    pos_loss = pos_loss.sum()
    neg_loss = neg_loss.sum()

    if num_pos == 0:
        loss = loss - neg_loss
    else:
        loss = loss - (pos_loss + neg_loss) / num_pos
    return loss


class FocalLoss(nn.Module):
    '''nn.Module warpper for focal loss'''

    def __init__(self):
        super(FocalLoss, self).__init__()
        self.neg_loss = _neg_loss

    def forward(self, out, target):
        return self.neg_loss(out, target)


class L1Loss(nn.Module):
    def __init__(self):
        super(L1Loss, self).__init__()

    def forward(self, output, mask, target):
        mask = mask.expand_as(output).float()
        loss = F.l1_loss(output * mask, target * mask, reduction='sum')
        return loss / (mask.sum() + 1e-4)


BN_MOMENTUM = 0.1


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes, momentum=BN_MOMENTUM)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes, momentum=BN_MOMENTUM)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(
                nn.Conv2d(inplanes, planes, 1, stride, bias=False),
                nn.BatchNorm2d(planes, momentum=BN_MOMENTUM))

    def forward(self, x):
        residual = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += residual
        return self.relu(out)


class PoseResNet(nn.Module):
    def __init__(self, heads, head_conv=32):
        super(PoseResNet, self).__init__()
        self.heads = heads
        self.layer1 = BasicBlock(3, 16, 2)
        self.layer2 = BasicBlock(16, 32, 2)
        self.up = nn.ConvTranspose2d(32, 32, 4, 2, 1)
        for head in heads:
            fc = nn.Sequential(
                nn.Conv2d(32, head_conv, 3, padding=1),
                nn.ReLU(inplace=True),
                nn.Conv2d(head_conv, heads[head], 1))
            if 'hm' in head:
                fc[-1].bias.data.fill_(-2.19)
            self.__setattr__(head, fc)

        self.focal_loss = FocalLoss()
        self.l1_loss = L1Loss()

    def forward(self, x, hm, dim, mask):
        x = self.up(self.layer2(self.layer1(x)))
        outputs = {}
        for head in self.heads:
            outputs[head] = self.__getattr__(head)(x)
        loss_hm = self.focal_loss(torch.sigmoid(outputs['hm']), hm)
        loss_dim = self.l1_loss(outputs['dim'], mask, dim)
        return loss_hm + loss_dim


def build():
    torch.manual_seed(0)
    return PoseResNet({'hm': 2, 'dim': 3})


def example_inputs():
    torch.manual_seed(1)
    n = 6
    x = 0.2 * torch.randn(n, 3, 32, 32)
    hm = torch.zeros(n, 2, 16, 16)
    dim = torch.zeros(n, 3, 16, 16)
    mask = torch.zeros(n, 1, 16, 16)
    ys, xs = torch.meshgrid(torch.arange(16), torch.arange(16), indexing='ij')
    for i in range(n):
        r, c = torch.randint(2, 14, (2,)).tolist()
        x[i, :, 2 * r - 2:2 * r + 2, 2 * c - 3:2 * c + 3] += 40.0
        heat = torch.exp(-((ys - r) ** 2 + (xs - c) ** 2).float() / 2)
        hm[i, i % 2] = heat
        dim[i, :, r, c] = torch.tensor([1.5, 1.6, 3.9])
        mask[i, 0, r, c] = 1
    return x, hm, dim, mask
