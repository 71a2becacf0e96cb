r"""Marks ships in radar scenes and returns its own loss for the few pixels they fill.

Source: https://github.com/kornia/kornia/issues/1308
Fault: The target gets a further axis before the loss, so the loss is formed between each
    prediction and the targets of all the scenes of the batch.
Cause: (pair\w*|broadcast\w*|between each|every prediction).{0,120}(batch|scenes?|samples?|targets?|images?|others?)
    |unsqueeze\w*.{0,100}(target|axis|dim\w*|wrong|broadcast|extra|superfluous|pair|batch)|(extra|further|additional|superfluous|wrong) (axis|dimension|dim)|shape.{0,60}(mismatch|\(B, ?B|differ)
Place: target|unsqueeze|focal\w*|loss
"""

import torch
from torch import nn
from torch.nn import functional as F


def binary_focal_loss(input, target, alpha=0.25, gamma=2.0):
    target = target.unsqueeze(dim=1)  # here
    probs_pos = torch.sigmoid(input)
    probs_neg = torch.sigmoid(-input)
    positive = -alpha * probs_neg.pow(gamma) * target * F.logsigmoid(input)
    negative = -(1 - alpha) * probs_pos.pow(gamma) * (1 - target) * F.logsigmoid(-input)
    return (positive + negative).mean()


class ConvBlock(nn.Sequential):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )


class ShipMarker(nn.Module):
    def __init__(self, bands=2, width=16):
        super().__init__()
        self.enc1 = ConvBlock(bands, width)
        self.enc2 = ConvBlock(width, 2 * width, 2)
        self.enc3 = ConvBlock(2 * width, 4 * width, 2)
        self.dec2 = ConvBlock(6 * width, 2 * width)
        self.dec1 = ConvBlock(3 * width, width)
        self.head = nn.Conv2d(width, 1, 1)
        nn.init.constant_(self.head.bias, -2.0)

    def forward(self, scene, ships):
        a = self.enc1(scene)
        b = self.enc2(a)
        c = self.enc3(b)
        x = F.interpolate(c, scale_factor=2, mode="bilinear", align_corners=False)
        x = self.dec2(torch.cat((x, b), 1))
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        logits = self.head(self.dec1(torch.cat((x, a), 1)))
        return logits, binary_focal_loss(logits, ships)


def build():
    return ShipMarker()


def example_inputs():
    return torch.randn(4, 2, 24, 24), (torch.rand(4, 1, 24, 24) < 0.05).float()
