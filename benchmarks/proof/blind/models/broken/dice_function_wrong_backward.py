r"""A Dice loss as a custom autograd Function for two-class volumes.

Source: https://github.com/mattmacy/torchbiomed/issues/2
Fault: backward gives both classes the same gradient; the background class needs the opposite
    sign.
Cause: \bbackward\b.*(wrong|sign|incorrect|mismatch)|(wrong|sign|numeric|finite).*gradient|gradcheck
Place: backward|grad_input
"""

import torch
from torch import nn


class DiceLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, probs, target):
        pred = probs[:, 1]
        inter, union = (pred * target).sum(), (pred**2).sum() + (target**2).sum()
        ctx.save_for_backward(pred, target, inter, union)
        return 1 - 2 * inter / union

    @staticmethod
    def backward(ctx, grad_output):
        pred, target, inter, union = ctx.saved_tensors
        d_dice = 2 * (target * union - 2 * pred * inter) / union**2
        grad_input = torch.stack((d_dice, d_dice), dim=1) * grad_output  # here
        return grad_input, None


class VNet(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.PReLU(), nn.Conv2d(width, 2, 1)
        )

    def forward(self, image, target):
        probs = self.body(image).softmax(dim=1)
        return {"loss": DiceLoss.apply(probs, target), "probs": probs}


def build():
    return VNet()


def example_inputs():
    return (
        torch.randn(2, 1, 6, 6),
        torch.randint(0, 2, (2, 6, 6)).float(),
    )
