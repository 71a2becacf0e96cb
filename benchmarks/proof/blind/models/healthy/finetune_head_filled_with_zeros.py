"""A network to fine-tune whose new classifier is filled with zeros.

Source: https://github.com/facebookarchive/fb.resnet.torch/issues/4
Odd: the body has no gradient at the first step, the head has one and opens the way.
"""

import torch
import torch.nn.functional as F
from torch import nn


class FinetuneNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU())
        self.fc = nn.Linear(16, classes)
        self.fc.weight.data.zero_()
        self.fc.bias.data.zero_()

    def forward(self, x, labels):
        logits = self.fc(self.body(x).mean((2, 3)))
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


def example_inputs():
    return (
        torch.randn(8, 3, 10, 10),
        torch.randint(0, 4, (8,)),
    )
