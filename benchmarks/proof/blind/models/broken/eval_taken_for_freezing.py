"""A depth refiner on a pretrained backbone that should stay fixed.

Source: https://github.com/alexrich021/3dvnet/issues/11
Fault: eval() does not stop gradients, so the backbone that should be frozen is trained.
Cause: requires_grad|frozen|freez|no_grad|eval.*(gradient|train|weights|freez)
Place: backbone|feature
"""

import torch
import torch.nn.functional as F
from torch import nn


class DepthRefiner(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.feat_shrinker = nn.Conv2d(width, width, 1)
        self.refine = nn.ConvTranspose2d(width, 1, 2, stride=2)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()  # here
        return self

    def forward(self, images):
        return self.refine(F.relu(self.feat_shrinker(self.backbone(images))))


def example_inputs():
    return (torch.randn(2, 3, 16, 16),)
