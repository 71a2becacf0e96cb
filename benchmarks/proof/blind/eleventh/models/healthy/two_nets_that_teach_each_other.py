r"""Cross pseudo supervision: two segmentation nets, each of which labels pictures for the other.

Source: https://github.com/charlesCXK/TorchSemiSeg/issues/45
Healthy: nothing is detached, but the pseudo labels are an argmax, through which no gradient comes;
    each net is trained on the labels of the other as on constants, which is what is wanted. The two
    nets are made alike and differ by their random weights.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = 3


def init_weight(feature, conv_init, norm_layer, bn_eps, bn_momentum, **kwargs):
    for name, m in feature.named_modules():
        if isinstance(m, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
            conv_init(m.weight, **kwargs)
        elif isinstance(m, norm_layer):
            m.eps = bn_eps
            m.momentum = bn_momentum
            nn.init.constant_(m.weight, 1)
            nn.init.constant_(m.bias, 0)


class ConvBnRelu(nn.Module):
    def __init__(self, in_planes, out_planes, ksize=3, stride=1, dilation=1):
        super().__init__()
        pad = dilation * (ksize - 1) // 2
        self.conv = nn.Conv2d(in_planes, out_planes, ksize, stride, pad, dilation, bias=False)
        self.bn = nn.BatchNorm2d(out_planes)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


class ASPP(nn.Module):
    def __init__(self, in_channels, out_channels, dilation_rates=(1, 2, 3)):
        super(ASPP, self).__init__()
        self.map_convs = nn.ModuleList(
            [ConvBnRelu(in_channels, out_channels, dilation=d) for d in dilation_rates])
        self.global_pooling_conv = nn.Conv2d(in_channels, out_channels, 1)
        self.red_conv = ConvBnRelu(out_channels * (len(dilation_rates) + 1), out_channels, 1)

    def forward(self, x):
        out = [m(x) for m in self.map_convs]
        pool = self.global_pooling_conv(x.mean(dim=(2, 3), keepdim=True)).expand_as(out[0])
        return self.red_conv(torch.cat(out + [pool], dim=1))


class SingleNetwork(nn.Module):
    def __init__(self, num_classes, width=12):
        super(SingleNetwork, self).__init__()
        self.backbone = nn.Sequential(
            ConvBnRelu(3, width), ConvBnRelu(width, 2 * width, stride=2),
            ConvBnRelu(2 * width, 2 * width))
        self.head = ASPP(2 * width, 2 * width)
        self.classifier = nn.Conv2d(2 * width, num_classes, kernel_size=1, bias=True)
        init_weight(self, nn.init.kaiming_normal_, nn.BatchNorm2d, 1e-5, 0.1,
                    mode='fan_in', nonlinearity='relu')

    def forward(self, data):
        b, c, h, w = data.shape
        pred = self.classifier(self.head(self.backbone(data)))
        return F.interpolate(pred, size=(h, w), mode='bilinear', align_corners=True)


class Network(nn.Module):
    def __init__(self, num_classes=CLASSES, cps_weight=0.5):
        super(Network, self).__init__()
        self.branch1 = SingleNetwork(num_classes)
        self.branch2 = SingleNetwork(num_classes)
        self.criterion = nn.CrossEntropyLoss(reduction='mean', ignore_index=255)
        self.cps_weight = cps_weight

    def predict(self, data):
        return self.branch1(data)

    def forward(self, imgs, gts, unsup_imgs):
        pred_sup_l = self.branch1(imgs)
        pred_unsup_l = self.branch1(unsup_imgs)
        pred_sup_r = self.branch2(imgs)
        pred_unsup_r = self.branch2(unsup_imgs)

        # cps loss
        pred_l = torch.cat([pred_sup_l, pred_unsup_l], dim=0)
        pred_r = torch.cat([pred_sup_r, pred_unsup_r], dim=0)
        _, max_l = torch.max(pred_l, dim=1)
        _, max_r = torch.max(pred_r, dim=1)
        max_l = max_l.long()
        max_r = max_r.long()
        cps_loss = self.criterion(pred_l, max_r) + self.criterion(pred_r, max_l)

        # supervised loss on both models
        loss_sup = self.criterion(pred_sup_l, gts)
        loss_sup_r = self.criterion(pred_sup_r, gts)
        return loss_sup + loss_sup_r + self.cps_weight * cps_loss


def make_streets(n=6, size=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    imgs = 0.3 * torch.randn(n, 3, size, size, generator=g)
    gts = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        top = int(torch.randint(8, 12, (1,), generator=g))
        gts[i, top:] = 1
        c = int(torch.randint(0, size - 6, (1,), generator=g))
        gts[i, top - 4:top + 2, c:c + 6] = 2
        gts[i, 0, 0] = 255
    for k in range(CLASSES):
        imgs[:, k] += (gts == k).float()
    return imgs, gts


def build():
    torch.manual_seed(0)
    return Network()


def example_inputs():
    imgs, gts = make_streets(4)
    unsup, _ = make_streets(4, seed=1)
    return imgs, gts, unsup
