r"""Segmentation network that returns its Dice loss.

Source: https://github.com/kevinzakka/pytorch-goodies/issues/2
Fault: The softmax is taken of the variable that it is to define.
Cause: probas
Place: dice_loss
"""

import torch
import torch.nn.functional as F
from torch import nn


def dice_loss(true, logits, eps=1e-7):
    num_classes = logits.shape[1]
    true_1_hot = F.one_hot(true, num_classes).permute(0, 3, 1, 2).float()
    probas = F.softmax(probas, dim=1)  # noqa: F821  # here
    dims = (0, *range(2, true.ndimension() + 1))
    intersection = torch.sum(probas * true_1_hot, dims)
    cardinality = torch.sum(probas + true_1_hot, dims)
    return 1 - (2.0 * intersection / (cardinality + eps)).mean()


class Segmenter(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU())
        self.classifier = nn.Conv2d(12, classes, 1)

    def forward(self, image, mask):
        return dice_loss(mask, self.classifier(self.body(image)))


def build():
    return Segmenter()


def example_inputs():
    return torch.randn(3, 3, 16, 16), torch.randint(0, 4, (3, 16, 16))
