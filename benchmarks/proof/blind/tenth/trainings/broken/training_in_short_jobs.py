r"""Kinds of things among scanned points, trained in short jobs that each take up the last one.

Source: https://github.com/torch-points3d/torch-points3d/pull/630
Fault: On resuming, the optimizer's state is loaded before the scheduler is made, whose constructor
    puts the learning rate back to the first value, so each job trains at the full rate.
Cause: (schedul|learning rate|lr|rate|optimizer).{0,120}(reset|order|before|after|constructor
    |initial|first value|put back|overwrit|overrid|restart|start value|undo|full rate|never (fall
    |decay|drop))|(reset|order|overwrit|restart|initial).{0,80}(schedul|learning rate|lr|optimizer)
Place: scheduler|load_state_dict|resume|optimizer|LambdaLR|load_optim_sched|job
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(630)
KINDS, POINTS, JOBS = 5, 24, 8
centres = torch.randn(KINDS, 6, 3)


def scans(count):
    kinds = torch.randint(0, KINDS, (count,))
    part = torch.randint(0, 6, (count, POINTS))
    points = centres[kinds][torch.arange(count)[:, None], part]
    return points + 0.9 * torch.randn(count, POINTS, 3), kinds


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.each = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.head = nn.Linear(48, KINDS)

    def forward(self, points):
        return self.head(self.each(points).mean(1))


train_points, train_kinds = scans(400)
val_points, val_kinds = scans(500)


def job(checkpoint):
    model = PointNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.6, momentum=0.9)
    if checkpoint is not None:
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])  # here
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    if checkpoint is not None:
        scheduler.load_state_dict(checkpoint["scheduler"])
    for rows in torch.randperm(len(train_points)).split(16):
        loss = F.cross_entropy(model(train_points[rows]), train_kinds[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    lr = optimizer.param_groups[0]["lr"]
    scheduler.step()
    with torch.no_grad():
        logits = model(val_points)
        val_loss = F.cross_entropy(logits, val_kinds).item()
        right = (logits.argmax(1) == val_kinds).float().mean().item()
    return val_loss, right, lr, {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }  # fmt: skip


checkpoint = None
for number in range(JOBS):
    val_loss, right, lr, checkpoint = job(checkpoint)
    print(f"job {number + 1} lr {lr:.4f} val loss {val_loss:.4f} right {right:.3f}")
