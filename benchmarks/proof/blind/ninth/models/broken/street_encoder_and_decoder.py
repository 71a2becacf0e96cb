r"""Street labeller with a pyramid of dilations over deep features and a light decoder.

Source: https://github.com/GeorgeSeif/Semantic-Segmentation-Suite/issues/38
Fault: The two convolutions of the decoder work on the shallow encoder features, so what the
    pyramid of dilations found is dropped.
Cause: (pyramid|aspp|dilat\w*|atrous|net\b|deep|concat\w*).{0,140}(ignor\w*|dropp\w*|lost
    |discard\w*|overwrit\w*|un-?used|never|no (effect|gradient)|not (used|reach\w*
    |contribut\w*)|dead)|(decoder|conv\w*).{0,120}(shallow|low.?level|encoder.?features
    |wrong (input|tensor|variable))|(encoder_features|low.?level|shallow).{0,100}(instead
    |alone|only|in place|passed|fed|wrong)
Place: encoder_features|\bnet\b|decoder\w*|conv\w*|forward|refine\w*
"""

import torch
import torch.nn.functional as F
from torch import nn


def block(inputs, outputs, kernel=3, stride=1, dilation=1):
    padding = dilation * (kernel // 2)
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class AtrousPyramid(nn.Module):
    def __init__(self, inputs, depth):
        super().__init__()
        self.pool = nn.Conv2d(inputs, depth, 1)
        self.one = nn.Conv2d(inputs, depth, 1)
        self.rates = nn.ModuleList(block(inputs, depth, 3, dilation=r) for r in (2, 4, 6))
        self.join = block(5 * depth, depth, 1)

    def forward(self, x):
        pooled = F.relu(self.pool(x.mean((2, 3), keepdim=True))).expand(-1, -1, *x.shape[2:])
        parts = [pooled, self.one(x)] + [rate(x) for rate in self.rates]
        return self.join(torch.cat(parts, 1))


class StreetLabels(nn.Module):
    def __init__(self, classes=12, depth=32):
        super().__init__()
        self.stem = nn.Sequential(block(3, 16, 3, 2), block(16, 24, 3, 2))
        self.deep = nn.Sequential(block(24, 48, 3, 2), block(48, 64, 3, 2), block(64, 64))
        self.pyramid = AtrousPyramid(64, depth)
        self.reduce = block(24, 16, 1)
        self.refine1 = block(16, depth)
        self.refine2 = block(depth, depth)
        self.logits = nn.Conv2d(depth, classes, 1)

    def forward(self, x):
        size = x.shape[2:]
        low = self.stem(x)
        net = self.pyramid(self.deep(low))
        encoder_features = self.reduce(low)
        net = F.interpolate(net, low.shape[2:], mode="bilinear", align_corners=False)
        net = torch.cat([encoder_features, net], 1)
        net = self.refine1(encoder_features)  # here
        net = self.refine2(net)
        net = F.interpolate(net, size, mode="bilinear", align_corners=False)
        return self.logits(net)


def build():
    return StreetLabels()


def example_inputs():
    return (torch.rand(2, 3, 64, 96),)
