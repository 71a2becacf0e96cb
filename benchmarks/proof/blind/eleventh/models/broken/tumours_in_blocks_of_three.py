r"""A small 3D U-Net for brain tumours, with blocks of three convolutions.

Source: https://github.com/pykao/BraTS2018-tumor-segmentation/issues/2
Fault: in the block of the way down the third convolution reads x again in place of y, so that what
    the second convolution has computed is overwritten; conv2 and bn2 get no gradient.
Cause: (conv2|bn2|\by\b).*(no|without|None|zero|never|not|n't|dead|unused|overwrit|discard|thrown).*
    |(unused|dead|never (used|read|called)|not used|overwrit|discard).*(conv2|bn2|\by\b)
    |(thrown away|no effect|no (gradient|influence)).*(conv2|bn2|\by\b)
    |(not reach|not (a |take )?part|does not (reach|affect|depend|contribute)).*(conv2|bn2|\by\b)
    |overwrit|conv3.*(\bx\b|wrong|instead|same input)
    |(result|output|tensor|value|branch).*(never|not) (used|read)
    |(result|output|tensor|value|branch).*(discard|thrown away)
Place: conv2|bn2|conv3|ConvD
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


def normalization(planes, norm='bn'):
    if norm == 'bn':
        m = nn.BatchNorm3d(planes)
    elif norm == 'gn':
        m = nn.GroupNorm(4, planes)
    elif norm == 'in':
        m = nn.InstanceNorm3d(planes)
    else:
        raise ValueError('normalization type {} is not supported'.format(norm))
    return m


class ConvD(nn.Module):
    def __init__(self, inplanes, planes, dropout=0.0, norm='gn', first=False):
        super(ConvD, self).__init__()
        self.first = first
        self.maxpool = nn.MaxPool3d(2, 2)
        self.dropout = dropout
        self.relu = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv3d(inplanes, planes, 3, 1, 1, bias=False)
        self.bn1 = normalization(planes, norm)
        self.conv2 = nn.Conv3d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = normalization(planes, norm)
        self.conv3 = nn.Conv3d(planes, planes, 3, 1, 1, bias=False)
        self.bn3 = normalization(planes, norm)

    def forward(self, x):
        if not self.first:
            x = self.maxpool(x)
        x = self.bn1(self.conv1(x))
        y = self.relu(self.bn2(self.conv2(x)))
        if self.dropout > 0:
            y = F.dropout3d(y, self.dropout, self.training)
        y = self.bn3(self.conv3(x))  # here
        return self.relu(x + y)


class ConvU(nn.Module):
    def __init__(self, planes, norm='gn', first=False):
        super(ConvU, self).__init__()
        self.first = first
        if not self.first:
            self.conv1 = nn.Conv3d(2 * planes, planes, 3, 1, 1, bias=False)
            self.bn1 = normalization(planes, norm)
        self.conv2 = nn.Conv3d(planes, planes // 2, 1, 1, 0, bias=False)
        self.bn2 = normalization(planes // 2, norm)
        self.conv3 = nn.Conv3d(planes, planes, 3, 1, 1, bias=False)
        self.bn3 = normalization(planes, norm)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x, prev):
        if not self.first:
            x = self.relu(self.bn1(self.conv1(x)))
        y = F.interpolate(x, scale_factor=2, mode='trilinear', align_corners=False)
        y = self.relu(self.bn2(self.conv2(y)))
        y = torch.cat([prev, y], 1)
        y = self.relu(self.bn3(self.conv3(y)))
        return y


class Unet(nn.Module):
    def __init__(self, c=4, n=8, dropout=0.0, norm='gn', num_classes=4):
        super(Unet, self).__init__()
        self.convd1 = ConvD(c, n, dropout, norm, first=True)
        self.convd2 = ConvD(n, 2 * n, dropout, norm)
        self.convd3 = ConvD(2 * n, 4 * n, dropout, norm)
        self.convu2 = ConvU(4 * n, norm, True)
        self.convu1 = ConvU(2 * n, norm)
        self.seg1 = nn.Conv3d(2 * n, num_classes, 1)
        for m in self.modules():
            if isinstance(m, nn.Conv3d):
                nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')
            elif isinstance(m, (nn.BatchNorm3d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def forward(self, x):
        x1 = self.convd1(x)
        x2 = self.convd2(x1)
        x3 = self.convd3(x2)
        y2 = self.convu2(x3, x2)
        y1 = self.convu1(y2, x1)
        return self.seg1(y1)


def make_volume(n=2, size=8, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = 0.3 * torch.randn(n, 4, size, size, size, generator=g)
    y = torch.zeros(n, size, size, size, dtype=torch.long)
    for i in range(n):
        a, b, c = torch.randint(0, size - 4, (3,), generator=g).tolist()
        y[i, a:a + 4, b:b + 4, c:c + 4] = 1
        y[i, a + 1:a + 3, b + 1:b + 3, c + 1:c + 3] = 3
        for k in range(4):
            x[i, k] += (y[i] == k).float() * 1.5
    return x, y


def build():
    torch.manual_seed(0)
    return Unet()


def example_inputs():
    return (make_volume()[0],)
