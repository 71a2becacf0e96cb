r"""A feature pyramid with semantic heads for cells: distances, and a foreground map.

Source: https://github.com/vanvalenlab/deepcell-tf/issues/624
Fault: a head with one channel ends in a ReLU although its output is used as a logit; the sigmoid of
    it is never below one half, so that no pixel can be called background, and pixels below zero get
    no gradient.
Cause: relu.*(last|final|output|logit|head|sigmoid|negative|end|before|clamp|0\.5|half)
    |(last|final|output|logit|head|end)s?\b.*(relu|non-?negative|never (negative|below))
    |(last|final|output|logit|head|end)s?\b.*(cannot be negative|clipped|clamped)
    |(probabilit|sigmoid).*(0\.5|half|relu|non-?negative)
    |(non-?negative|never negative|>= ?0).*logit
Place: relu|semantic_head|head|activation|foreground|last
"""
import torch
from torch import nn
import torch.nn.functional as F

FEATURES = 24


class ConvBlock(nn.Sequential):
    def __init__(self, in_c, out_c, stride=1):
        super().__init__(
            nn.Conv2d(in_c, out_c, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(out_c),
            nn.ReLU(),
        )


class Backbone(nn.Module):
    def __init__(self, in_c=2, widths=(12, 24, 32)):
        super().__init__()
        self.c1 = ConvBlock(in_c, widths[0])
        self.c2 = ConvBlock(widths[0], widths[1], stride=2)
        self.c3 = ConvBlock(widths[1], widths[2], stride=2)

    def forward(self, x):
        c1 = self.c1(x)
        c2 = self.c2(c1)
        c3 = self.c3(c2)
        return c1, c2, c3


class FPN(nn.Module):
    def __init__(self, widths=(12, 24, 32), feature_size=FEATURES):
        super().__init__()
        self.lateral = nn.ModuleList([nn.Conv2d(w, feature_size, 1) for w in widths])
        self.final = nn.Conv2d(feature_size, feature_size, 3, padding=1)

    def forward(self, feats):
        pyramid = [lat(f) for lat, f in zip(self.lateral, feats)]
        for i in range(len(pyramid) - 1, 0, -1):
            up = F.interpolate(pyramid[i], scale_factor=2, mode='nearest')
            pyramid[i - 1] = pyramid[i - 1] + up
        return self.final(pyramid[0])


def create_semantic_head(n_classes, feature_size=FEATURES, n_dense=24, include_top=True):
    """head on top of the finest level of the pyramid"""
    layers = [
        nn.Conv2d(feature_size, n_dense, 1),
        nn.BatchNorm2d(n_dense),
        nn.ReLU(),
        nn.Conv2d(n_dense, n_classes, 1),
    ]
    if include_top:
        if n_classes > 1:
            layers.append(nn.LogSoftmax(dim=1))
        else:
            layers.append(nn.ReLU())  # here
    return nn.Sequential(*layers)


class PanopticNet(nn.Module):
    def __init__(self, in_c=2, num_semantic_classes=(1, 3)):
        super().__init__()
        self.num_semantic_classes = num_semantic_classes
        self.backbone = Backbone(in_c)
        self.fpn = FPN()
        self.semantic_heads = nn.ModuleList(
            [create_semantic_head(n) for n in num_semantic_classes])

    def outputs(self, x):
        p1 = self.fpn(self.backbone(x))
        return [head(p1) for head in self.semantic_heads]

    def forward(self, x, foreground, classes):
        fg, log_probs = self.outputs(x)
        loss = F.binary_cross_entropy_with_logits(fg.squeeze(1), foreground)
        return loss + F.nll_loss(log_probs, classes)

    @torch.no_grad()
    def foreground_map(self, x):
        return torch.sigmoid(self.outputs(x)[0]).squeeze(1) > 0.5


def make_tissue(n=6, size=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    rows = torch.arange(size).view(size, 1).float()
    cols = torch.arange(size).view(1, size).float()
    x = 0.2 * torch.randn(n, 2, size, size, generator=g)
    classes = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for _ in range(3):
            r, c = torch.randint(4, size - 4, (2,), generator=g).tolist()
            d = ((rows - r) ** 2 + (cols - c) ** 2).sqrt()
            classes[i][d < 4] = 1
            classes[i][d < 2] = 2
    x[:, 0] += (classes == 2).float()
    x[:, 1] += (classes > 0).float() * 0.7
    return x, (classes > 0).float(), classes


def build():
    torch.manual_seed(0)
    return PanopticNet()


def example_inputs():
    return make_tissue(4)
