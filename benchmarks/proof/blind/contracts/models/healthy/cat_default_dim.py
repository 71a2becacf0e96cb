r"""The model `TwoStream`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.cat.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoStream(nn.Module):
    def __init__(self, rgb=12, flow=12, dim=24, classes=5):
        super().__init__()
        self.rgb = nn.Sequential(nn.Linear(rgb, dim), nn.ReLU())
        self.flow = nn.Sequential(nn.Linear(flow, dim), nn.ReLU())
        self.fuse = nn.Linear(2 * dim, dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, rgb, flow):
        a = self.rgb(rgb)
        b = self.flow(flow)
        h = torch.cat([a, b], dim=1)
        h = F.relu(self.fuse(h))
        return self.head(h)


torch.manual_seed(0)
model = TwoStream()
example_inputs = (torch.randn(6, 12), torch.randn(6, 12),)
