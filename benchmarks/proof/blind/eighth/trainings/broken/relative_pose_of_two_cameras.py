r"""Shift and turn between two cameras from what both of them see.

Source: https://github.com/dingmyu/CamNet/pull/4
Fault: The predictions have the shape (batch, 3, 1, 1) and the labels (batch, 3), so the L1 loss
    compares each prediction with all the labels.
Cause: shapes?\b|broadcast|dimension.{0,60}(label|target|match|differ)|size.{0,40}(label|target)
    |squeeze|(every|each|all).{0,40}(pair|other sample|sample.{0,20}label)|\(\w+, ?3, ?1, ?1\)
Place: trans|rot|l1_loss|PoseHead|translation|rotation
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
landmarks = torch.randn(10, 3)


def small_turn(angles):
    zero = torch.zeros(len(angles))
    x, y, z = angles.unbind(1)
    skew = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], 1).view(-1, 3, 3)
    return torch.matrix_exp(skew)


def camera_pairs(count=64):
    translation = 0.7 * torch.randn(count, 3)
    rotation = 0.5 * torch.randn(count, 3)
    seen = landmarks @ small_turn(rotation).transpose(1, 2) + translation[:, None]
    first = landmarks.expand(count, -1, -1) + 0.01 * torch.randn(count, 10, 3)
    views = torch.cat([first, seen], 2).transpose(1, 2)
    return views.unsqueeze(3), translation, rotation


class PoseHead(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc = nn.Conv2d(channels, channels, 1)
        self.trans = nn.Conv2d(channels, 3, 1)
        self.rot = nn.Conv2d(channels, 3, 1)

    def forward(self, x):
        x = F.relu(self.fc(x))
        return self.trans(x), self.rot(x)


class RelativePoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(6, 128, (10, 1)), nn.ReLU(), nn.Conv2d(128, 128, 1), nn.ReLU()
        )
        self.pose = PoseHead(128)

    def forward(self, views):
        return self.pose(self.backbone(views))


net = RelativePoseNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for iteration in range(300):
    views, translation, rotation = camera_pairs()
    trans, rot = net(views)
    loss_t = F.l1_loss(trans, translation)  # here
    loss_r = F.l1_loss(rot, rotation)  # here
    loss = loss_t + loss_r
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 50 == 0:
        print(f"iter {iteration} trans {loss_t.item():.4f} rot {loss_r.item():.4f}")
with torch.no_grad():
    views, translation, rotation = camera_pairs(500)
    trans, rot = (out.flatten(1) for out in net(views))
    error = (trans - translation).norm(dim=1).median().item()
    turn = (rot - rotation).norm(dim=1).median().item()
print(f"median error of the shift {error:.3f} and of the turn {turn:.3f}")
