r"""The model `FlowWarp`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grid_sample.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class FlowWarp(nn.Module):
    def __init__(self, cin=2, width=16):
        super().__init__()
        self.flow = nn.Sequential(
            nn.Conv2d(cin, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2, 3, padding=1),
        )
        nn.init.normal_(self.flow[2].weight, std=1e-3)
        nn.init.zeros_(self.flow[2].bias)

    def forward(self, moving, fixed):
        b, _, h, w = moving.shape
        ys = torch.linspace(-1, 1, h, device=moving.device)
        xs = torch.linspace(-1, 1, w, device=moving.device)
        gy, gx = torch.meshgrid(ys, xs, indexing="ij")
        grid = torch.stack([gx, gy], dim=-1).expand(b, h, w, 2)
        flow = self.flow(torch.cat([moving, fixed], dim=1)).permute(0, 2, 3, 1)
        return F.grid_sample(moving, grid + flow, align_corners=True)


torch.manual_seed(0)
model = FlowWarp()
example_inputs = (torch.randn(4, 1, 20, 20), torch.randn(4, 1, 20, 20),)
