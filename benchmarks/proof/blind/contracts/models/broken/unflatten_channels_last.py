r"""The model `ContextGate`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Unflatten.html
Fault: The flat vector is unflattened as (h, w, c) although the convolution map was flattened as
    (c, h, w), so the mean over "space" mixes channels.
Cause: (un)?flatten|(channel|axis|axes|order|layout).*(mix|swap|wrong|scrambl|order|last|first)
    |scrambl|channels?.last|permut
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContextGate(nn.Module):
    def __init__(self, cin=3, width=16, size=4, classes=4):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(cin, width, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(size)
        )
        self.flat = nn.Flatten()
        self.mlp = nn.Linear(width * size * size, 8)
        self.grid = nn.Unflatten(1, (size, size, width))
        self.head = nn.Linear(width + 8, classes)

    def forward(self, x):
        v = self.flat(self.stem(x))
        pooled = self.grid(v).mean(dim=(1, 2))
        return self.head(torch.cat([pooled, F.relu(self.mlp(v))], dim=1))


torch.manual_seed(0)
model = ContextGate()
example_inputs = (torch.randn(4, 3, 20, 20),)
