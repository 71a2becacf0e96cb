r"""The kind of a set of points and the part that each of its points belongs to.

Source: https://github.com/yanx27/Pointnet_Pointnet2_pytorch/issues/30
Fault: The loss of the kind is nll_loss on plain scores, for which log probabilities are needed.
Cause: nll_?loss.{0,120}(log|softmax|score|logit|raw|probabilit|cross)|log_?softmax
    |(loss|label loss).{0,60}(negative|below zero|unbounded|minus infinity|no floor|without bound)
    |cross_entropy
Place: nll_loss|label_loss|PointNetLoss|label_pred
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(56)
KINDS, PARTS, POINTS = 4, 3, 32


class PointNetLoss(nn.Module):
    def __init__(self, weight=0.5):
        super().__init__()
        self.weight = weight

    def forward(self, label_pred, label, seg_pred, seg):
        seg_loss = F.nll_loss(seg_pred.flatten(0, 1), seg.flatten())
        label_loss = F.nll_loss(label_pred, label)  # here
        return self.weight * seg_loss + (1 - self.weight) * label_loss, seg_loss, label_loss


class PointNetJoint(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
        self.kind = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, KINDS))
        self.part = nn.Sequential(nn.Linear(128, 48), nn.ReLU(), nn.Linear(48, PARTS))

    def forward(self, points):
        local = self.local(points)
        whole = local.max(dim=1).values
        together = torch.cat([local, whole[:, None].expand_as(local)], dim=2)
        return self.kind(whole), F.log_softmax(self.part(together), dim=-1)


def clouds(count):
    kind = torch.randint(0, KINDS, (count,))
    part = torch.randint(0, PARTS, (count, POINTS))
    stretch = 1 + 0.6 * kind[:, None, None]
    direction = F.one_hot((part + kind[:, None]) % 3, 3).float()
    points = direction * stretch + 0.45 * torch.randn(count, POINTS, 3)
    return points, kind, part


model, criterion = PointNetJoint(), PointNetLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
test = clouds(400)
for step in range(260):
    points, kind, part = clouds(32)
    label_pred, seg_pred = model(points)
    loss, seg_loss, label_loss = criterion(label_pred, kind, seg_pred, part)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 52 == 51:
        with torch.no_grad():
            label_pred, seg_pred = model(test[0])
        kinds = (label_pred.argmax(1) == test[1]).float().mean().item()
        parts = (seg_pred.argmax(2) == test[2]).float().mean().item()
        print(
            f"{step + 1} loss {loss.item():.3f} part loss {seg_loss.item():.3f} "
            f"kinds {kinds:.3f} parts {parts:.3f}"
        )
