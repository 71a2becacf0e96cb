r"""The model `DeformableReader`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grid_sample.html
Fault: grid_sample gets pixel coordinates instead of coordinates in [-1, 1], so almost every
    sample lies outside and is zero.
Cause: pixel|\[-1, ?1\]|normali[sz]ed? (coord|to|grid)|out(side| of (range|bound))
    |(coord|grid).*(range|normali|outside|scale)|(mostly|almost all|nearly all|all).*zero
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DeformableReader(nn.Module):
    def __init__(self, cin=3, width=16, classes=5):
        super().__init__()
        self.feat = nn.Conv2d(cin, width, 3, padding=1)
        self.offset = nn.Conv2d(width, 2, 3, padding=1)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, img):
        f = F.relu(self.feat(img))
        b, c, h, w = f.shape
        gy, gx = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        base = torch.stack([gx, gy], dim=-1).float().to(f.device)
        pos = base + self.offset(f).permute(0, 2, 3, 1)
        g = F.grid_sample(f, pos, align_corners=False)
        return self.head(g)


torch.manual_seed(0)
model = DeformableReader()
example_inputs = (torch.randn(4, 3, 16, 24),)
