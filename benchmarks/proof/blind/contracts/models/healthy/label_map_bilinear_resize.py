r"""Conditions a feature map on a layout of class ids.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.interpolate.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class LayoutConditioner(nn.Module):
    """Conditions a feature map on a layout of class ids."""

    def __init__(self, classes=6, dim=12, cin=8):
        super().__init__()
        self.embed = nn.Embedding(classes, dim)
        self.norm = nn.InstanceNorm2d(cin)
        self.gamma = nn.Conv2d(dim, cin, 3, padding=1)
        self.beta = nn.Conv2d(dim, cin, 3, padding=1)

    def forward(self, x, layout):
        m = layout.unsqueeze(1).float()
        m = F.interpolate(m, size=x.shape[-2:], mode="nearest")
        e = self.embed(m.squeeze(1).long()).permute(0, 3, 1, 2)
        return self.norm(x) * (1 + self.gamma(e)) + self.beta(e)


def make_layout(n=4, size=24):
    layout = torch.zeros(n, size, size, dtype=torch.long)
    layout[:, :, size // 3:] = 5
    layout[:, size // 2:, :] = 2
    return layout


torch.manual_seed(0)
model = LayoutConditioner()
example_inputs = (torch.randn(4, 8, 16, 16), make_layout(),)
