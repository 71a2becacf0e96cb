r"""Fine-tunes a detector-like head with batch norm kept in eval mode.

Source: https://github.com/facebookresearch/detr/blob/main/models/backbone.py
    https://github.com/open-mmlab/mmdetection/blob/main/mmdet/models/backbones/resnet.py
Odd: model.train() is called, but the batch norm layers are set back to eval and their statistics
    never move; with batches of two, that is the usual choice.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Backbone(nn.Module):
    def __init__(self, norm_eval=False):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12)
        self.norm_eval = norm_eval

    def train(self, mode=True):
        super().train(mode)
        if mode and self.norm_eval:
            for m in self.modules():
                if isinstance(m, nn.BatchNorm2d):
                    m.eval()
        return self

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


def images(n):
    grid = torch.arange(10).float()
    cx, cy = 2 + 6 * torch.rand(n, 1, 1), 2 + 6 * torch.rand(n, 1, 1)
    blob = torch.exp(-((grid.view(1, 1, -1) - cx) ** 2 + (grid.view(1, -1, 1) - cy) ** 2) / 3)
    return (blob + 0.1 * torch.randn(n, 10, 10)).unsqueeze(1), torch.cat([cx, cy], 1).view(
        n, 2
    ) / 10


torch.manual_seed(0)
backbone = Backbone()
reconstruct = nn.Conv2d(12, 1, 1)
opt = torch.optim.Adam([*backbone.parameters(), *reconstruct.parameters()], lr=1e-2)
for _ in range(40):
    x, _ = images(32)
    loss = F.mse_loss(reconstruct(backbone(x)), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"pretraining loss {loss.item():.4f}")
backbone.norm_eval = True
head = nn.Sequential(nn.Flatten(), nn.Linear(1200, 2))
model = nn.Sequential(backbone, head).train()
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
running = 0.0
for it in range(250):
    x, box = images(2)
    loss = F.smooth_l1_loss(model(x), box)
    opt.zero_grad()
    loss.backward()
    opt.step()
    running += loss.item()
    if it % 50 == 49:
        print(f"iter {it} box loss {running / 50:.5f}")
        running = 0.0
