"""Super-resolution with a content loss in the features of a frozen network.

Source: https://github.com/eriklindernoren/PyTorch-GAN/issues/94
    https://github.com/grey-eye/talking-heads/pull/39
Odd: the feature extractor has no trainable weight, gradients only pass through it.
"""

import torch
import torch.nn.functional as F
from torch import nn


class PerceptualSR(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.generator = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.PReLU(), nn.Conv2d(width, 12, 3, padding=1)
        )
        self.shuffle = nn.PixelShuffle(2)
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3))
        self.features.requires_grad_(False).eval()

    def forward(self, imgs_lr, imgs_hr):
        gen_hr = self.shuffle(self.generator(imgs_lr))
        real_features = self.features(imgs_hr).detach()
        content = F.l1_loss(self.features(gen_hr), real_features)
        return {"loss": content + F.l1_loss(gen_hr, imgs_hr), "gen": gen_hr}


def example_inputs():
    return (
        torch.rand(4, 3, 6, 6),
        torch.rand(4, 3, 12, 12),
    )
