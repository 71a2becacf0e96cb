r"""A binary focal loss that collects one value for each image.

Source: https://github.com/bonlime/pytorch-tools/issues/81
Fault: torch.tensor makes a new leaf out of numbers: the loss is not connected to the network.
Cause: torch\.tensor|new (tensor|leaf)|\.item|detach|(cut|break|outside).*graph|not connected|leaf
Place: losses|body|backbone
"""

import torch
import torch.nn.functional as F
from torch import nn


class FocalSegmenter(nn.Module):
    def __init__(self, width=8, gamma=2.0):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 1)
        )
        self.gamma = gamma

    def focal(self, logits, target):
        ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return ((1 - torch.exp(-ce)) ** self.gamma * ce).mean()

    def forward(self, images, masks):
        logits = self.body(images).squeeze(1)
        losses = [self.focal(lo, ma).item() for lo, ma in zip(logits, masks, strict=True)]
        loss = torch.tensor(losses, requires_grad=True).mean()  # here
        return {"loss": loss, "logits": logits}


def example_inputs():
    return (
        torch.randn(4, 3, 8, 8),
        torch.randint(0, 2, (4, 8, 8)).float(),
    )
