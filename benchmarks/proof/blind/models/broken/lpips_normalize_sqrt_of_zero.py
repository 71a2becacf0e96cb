r"""A perceptual distance between features that are normalised over channels.

Source: https://github.com/richzhang/PerceptualSimilarity/issues/69
Fault: eps is added outside the root, so pixels with all channels at zero give a NaN gradient.
Cause: sqrt|square root|\broot|\beps.*(inside|under)|norm\w* .*zero
Place: normalize|norm_factor
"""

import torch
import torch.nn.functional as F
from torch import nn


def normalize_tensor(in_feat, eps=1e-10):
    norm_factor = torch.sqrt(torch.sum(in_feat**2, dim=1, keepdim=True))  # here
    return in_feat / (norm_factor + eps)


class PerceptualLoss(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.slice1 = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.LeakyReLU(0.2)
        )
        self.slice2 = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.LeakyReLU(0.2)
        )
        self.lin = nn.Conv2d(width, 1, 1, bias=False)

    def forward(self, img0, img1):
        loss = 0
        f0, f1 = img0, img1
        for block in (self.slice1, self.slice2):
            f0, f1 = block(f0), block(f1)
            diff = (normalize_tensor(f0) - normalize_tensor(f1)) ** 2
            loss = loss + self.lin(diff).mean()
        return {"loss": loss}


def example_inputs():
    return (
        F.pad(torch.rand(2, 3, 8, 8), (4, 4, 4, 4)),
        torch.rand(2, 3, 16, 16),
    )
