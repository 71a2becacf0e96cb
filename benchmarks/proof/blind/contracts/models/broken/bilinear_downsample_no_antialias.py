r"""The model `ThumbnailScorer`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.interpolate.html
Fault: A fourfold bilinear downsampling without antialias=True reads only a part of the pixels and
    aliases.
Cause: anti-?alias|alias|(pixel|input)s?.*(skip|never|ignor|unused|not (read|used)|no gradient)
    |no gradient.*(pixel|input)|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ThumbnailScorer(nn.Module):
    def __init__(self, width=16, size=16):
        super().__init__()
        self.size = size
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.fc = nn.Linear(width, 1)

    def forward(self, x):
        x = F.interpolate(
            x, size=(self.size, self.size), mode="bilinear", align_corners=False
        )
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.mean(dim=(2, 3))).squeeze(1)


torch.manual_seed(0)
model = ThumbnailScorer()
example_inputs = (torch.randn(4, 3, 64, 64),)
