r"""Segmentation that keeps the mean feature of each class to remember it later.

Source: https://github.com/hieuvmphan/REMINDER/issues/6
Fault: Swapping axis one with axis three puts width before height, so the flattened features do
    not belong to the flattened labels.
Cause: transpose.{0,120}(width|height|W\b|order|swap\w*|permute|wrong|mis\w*|correspond\w*
    |align\w*)|(width|height).{0,100}(swap\w*|before|order|transpos\w*|exchang\w*|mix\w*)
    |permute\(?.?0, ?2, ?3|(feature|pixel)s?.{0,120}(not (belong|correspond|match|align)\w*
    |mis-?(match|align)\w*|wrong (label|class|pixel)|other label)|(label
    |class)\w*.{0,60}(wrong|other|different) (pixel|feature|position)
Place: transpose|permute|features?|forward|update\w*|prototypes?|\bseg\b|labels?
"""

import torch
import torch.nn.functional as F
from torch import nn


class Prototypes(nn.Module):
    def __init__(self, classes, channels):
        super().__init__()
        self.classes = classes
        self.register_buffer("sums", torch.zeros(classes, channels))
        self.register_buffer("counts", torch.zeros(classes))

    @torch.no_grad()
    def update(self, features, seg):
        b, c, h, w = features.shape
        seg = seg.reshape(-1)
        features = features.transpose(1, 3).contiguous().view(b * h * w, c)  # here
        for k in range(self.classes):
            selected = features[seg == k]
            self.sums[k] += selected.sum(0)
            self.counts[k] += len(selected)

    def means(self):
        return self.sums / self.counts.clamp(min=1).unsqueeze(1)


class Segmenter(nn.Module):
    def __init__(self, classes=6, channels=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, channels, 3, 2, 1), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, 1, 2, dilation=2), nn.BatchNorm2d(channels), nn.ReLU(),
        )  # fmt: skip
        self.head = nn.Conv2d(channels, classes, 1)
        self.prototypes = Prototypes(classes, channels)

    def forward(self, x, labels):
        features = self.encoder(x)
        scores = F.interpolate(self.head(features), x.shape[2:], mode="bilinear")
        small = F.interpolate(labels[:, None].float(), features.shape[2:], mode="nearest")
        if self.training:
            self.prototypes.update(features, small[:, 0].long())
        similar = (
            F.normalize(features, dim=1).permute(0, 2, 3, 1)
            @ F.normalize(self.prototypes.means(), dim=1).t()
        )
        similar = F.interpolate(similar.permute(0, 3, 1, 2), x.shape[2:], mode="nearest")
        return F.cross_entropy(scores, labels) + 0.1 * F.cross_entropy(similar / 0.1, labels)


def build():
    return Segmenter()


def example_inputs():
    return torch.rand(2, 3, 32, 32), torch.randint(0, 6, (2, 4, 4)).repeat_interleave(
        8, 1
    ).repeat_interleave(8, 2)
