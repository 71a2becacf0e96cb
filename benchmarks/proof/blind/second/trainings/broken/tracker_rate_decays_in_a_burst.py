r"""Trains a tracker where the rate should drop once after a number of iterations.

Source: https://github.com/amoudgl/pygoturn/issues/16
Fault: the iteration counter grows only when a full batch is collected, but the decay runs at each
    sample; while the counter stands at a multiple of the step the rate drops again and again.
Cause: learning.?rate|\blr\b|scheduler|decay
Place: exp_lr_scheduler|\blr\b|\bitr\b
"""

import torch
from torch import nn

torch.manual_seed(9)
BATCH, DECAY_STEP, GAMMA = 10, 12, 0.5
net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
mapping = torch.randn(16, 4) / 4


def exp_lr_scheduler(optimizer, step, init_lr_step=DECAY_STEP, gamma=GAMMA):
    if step > 0 and step % init_lr_step == 0:
        for group in optimizer.param_groups:
            group["lr"] *= gamma
    return optimizer


def crops():
    while True:
        x = torch.randn(16)
        yield x, (x @ mapping).abs()


itr, batch = 0, []
for sample in crops():
    if itr >= 60:
        break
    optimizer = exp_lr_scheduler(optimizer, itr)  # here
    batch.append(sample)
    if len(batch) < BATCH:
        continue
    x, y = (torch.stack(part) for part in zip(*batch, strict=True))
    loss = (net(x) - y).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if itr % 6 == 0:
        print(f"iteration {itr} lr {optimizer.param_groups[0]['lr']:.2e} loss {loss.item():.4f}")
    itr += 1
    batch = []
