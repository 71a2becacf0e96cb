r"""The model `ContextGate`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Unflatten.html
Healthy: the right twin of the broken case of this name.
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
        self.grid = nn.Unflatten(1, (width, size, size))
        self.head = nn.Linear(width + 8, classes)

    def forward(self, x):
        v = self.flat(self.stem(x))
        pooled = self.grid(v).mean(dim=(2, 3))
        return self.head(torch.cat([pooled, F.relu(self.mlp(v))], dim=1))


torch.manual_seed(0)
model = ContextGate()
example_inputs = (torch.randn(4, 3, 20, 20),)
