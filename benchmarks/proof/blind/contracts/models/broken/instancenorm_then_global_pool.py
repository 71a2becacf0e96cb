r"""The model `StyleClassifier`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.InstanceNorm2d.html
Fault: InstanceNorm without an affine part is followed directly by global average pooling, so the
    pooled features are all zero.
Cause: instance ?norm.*(pool|mean|averag|zero|constant|remov)
    |(pool|mean|averag).*(zero|constant|cancel|remov).*|zero.*(pool|mean|averag)
    |constant (output|feature)|no gradient|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class StyleClassifier(nn.Module):
    def __init__(self, classes=6, width=24):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False)
        self.norm1 = nn.InstanceNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2, padding=1, bias=False)
        self.norm2 = nn.InstanceNorm2d(width)
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = self.norm2(self.conv2(x))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.fc(x)


torch.manual_seed(0)
model = StyleClassifier()
example_inputs = (torch.randn(4, 3, 24, 24),)
