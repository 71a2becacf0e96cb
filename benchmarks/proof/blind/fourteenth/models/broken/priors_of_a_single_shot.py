r"""A single-shot detector on small pictures, with a sigmoid focal loss over all its priors.

Source: https://github.com/yqyao/SSD_Pytorch/issues/32
Fault: for the negative priors the focal weight is a power of 1 - P, as for the positive ones,
    where it must be a power of P; easy background keeps its full weight and false alarms are
    weighted down, the reverse of what the focal loss is for.
Cause: (negativ|background).{0,140}(1 ?- ?p|weight|modulat|power|pow|factor|easy|hard|invert|wrong
    |swap|gamma)
    |(1 ?- ?p|weight|modulat|power|pow|factor|gamma).{0,120}(negativ|background)
    |(focal|modulat).{0,80}(invert|wrong|swap|revers|same for|upside|identical)
    |easy.{0,60}(full|more|most|dominat|not (down|reduced|suppressed)|up.?weight)
Place: loss_neg|SigmoidFocalLoss|sigmoid_focal_loss|gamma|FocalLoss
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class FocalLossSigmoid(nn.Module):
    """
    This criterion is a implemenation of Focal Loss, which is proposed in
    Focal Loss for Dense Object Detection.
    """

    def __init__(self, alpha=0.25, gamma=2, size_average=False):
        super(FocalLossSigmoid, self).__init__()
        self.alpha = alpha
        self.gamma = gamma
        self.size_average = size_average

    def forward(self, inputs, targets):
        # inputs: (M, C) scores, targets: (M,) with 0 for background
        num_classes = inputs.size(1)
        t = F.one_hot(targets, num_classes + 1).float()[:, 1:]
        P = torch.sigmoid(inputs).clamp(1e-6, 1 - 1e-6)
        alpha_mask = self.alpha * t
        loss_pos = -1. * torch.pow(1 - P, self.gamma) * torch.log(P) * t * alpha_mask
        loss_neg = -1. * torch.pow(1 - P, self.gamma) * torch.log(1 - P) * (1 - t) * (  # here
            1 - self.alpha)
        loss = loss_neg + loss_pos
        if self.size_average:
            return loss.mean()
        return loss.sum()


class ConvBnRelu(nn.Module):
    def __init__(self, inp, oup, stride=1):
        super(ConvBnRelu, self).__init__()
        self.conv = nn.Conv2d(inp, oup, 3, stride, 1, bias=False)
        self.bn = nn.BatchNorm2d(oup)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


class SSD(nn.Module):
    """Single Shot Multibox Architecture, two source maps with 2 priors per place"""

    def __init__(self, num_classes=3, num_priors=2):
        super(SSD, self).__init__()
        self.num_classes = num_classes
        self.base = nn.Sequential(
            ConvBnRelu(3, 16, 2),
            ConvBnRelu(16, 32, 2),
            ConvBnRelu(32, 32),
        )
        self.extras = nn.Sequential(ConvBnRelu(32, 48, 2), ConvBnRelu(48, 48))
        self.loc = nn.ModuleList([nn.Conv2d(32, num_priors * 4, 3, padding=1),
                                  nn.Conv2d(48, num_priors * 4, 3, padding=1)])
        self.conf = nn.ModuleList([nn.Conv2d(32, num_priors * num_classes, 3, padding=1),
                                   nn.Conv2d(48, num_priors * num_classes, 3, padding=1)])
        self.cls_loss = FocalLossSigmoid()
        self.init_weight()

    def init_weight(self):
        def weights_init(m):
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode='fan_out')
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
        self.base.apply(weights_init)
        self.extras.apply(weights_init)
        for layer in self.conf:
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.constant_(layer.bias, -2.0)

    def forward(self, x, loc_t, conf_t):
        sources, loc, conf = [], [], []
        x = self.base(x)
        sources.append(x)
        x = self.extras(x)
        sources.append(x)

        for (x, l, c) in zip(sources, self.loc, self.conf):
            loc.append(l(x).permute(0, 2, 3, 1).contiguous())
            conf.append(c(x).permute(0, 2, 3, 1).contiguous())
        loc = torch.cat([o.view(o.size(0), -1, 4) for o in loc], 1)
        conf = torch.cat([o.view(o.size(0), -1, self.num_classes) for o in conf], 1)

        pos = conf_t > 0
        num_pos = pos.sum().clamp(min=1).float()
        pos_idx = pos.unsqueeze(2).expand_as(loc)
        loss_l = F.smooth_l1_loss(loc[pos_idx].view(-1, 4), loc_t[pos_idx].view(-1, 4),
                                  reduction='sum')
        loss_c = self.cls_loss(conf.view(-1, self.num_classes), conf_t.view(-1))
        return loss_l / num_pos + loss_c / num_pos


def build():
    torch.manual_seed(0)
    return SSD()


def example_inputs():
    torch.manual_seed(1)
    n = 8
    images = 0.1 * torch.randn(n, 3, 32, 32)
    priors = 8 * 8 * 2 + 4 * 4 * 2
    loc_t = torch.zeros(n, priors, 4)
    conf_t = torch.zeros(n, priors, dtype=torch.long)
    for i in range(n):
        k = i % 3
        r, c = torch.randint(0, 7, (2,)).tolist()
        images[i, k, 4 * r:4 * r + 8, 4 * c:4 * c + 8] += 1.0
        p = (r * 8 + c) * 2
        conf_t[i, p] = k + 1
        loc_t[i, p] = torch.tensor([0.1, -0.1, 0.2, 0.2])
    return images, loc_t, conf_t
