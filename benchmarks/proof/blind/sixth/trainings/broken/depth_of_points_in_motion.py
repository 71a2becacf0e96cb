r"""Depth of points from the motion of a camera, with a scheduler as an option.

Source: https://github.com/ClementPinard/SfmLearner-Pytorch/issues/5
Fault: With a scheduler only the scheduler steps; the optimizer's step is in the other branch.
Cause: optimi[sz]er.{0,60}(step|never|not)|\.step\(\)
    |(weights|parameters).{0,60}(never|\bnot\b|n't|\bno\b)
    |(never|not|n't).{0,30}(updat|chang|mov|step)
Place: optimizer\.step
"""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--scheduler", default="step", choices=["none", "step"])
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args([])

torch.manual_seed(0)
disp_net = nn.Sequential(
    nn.Linear(5, 48), nn.ELU(), nn.Linear(48, 48), nn.ELU(), nn.Linear(48, 1), nn.Sigmoid()
)
optimizer = torch.optim.Adam(disp_net.parameters(), args.lr, betas=(0.9, 0.999))
scheduler = None
if args.scheduler == "step":
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=40, gamma=0.5)


def batch(count=128):
    place, motion = torch.rand(count, 2), torch.randn(count, 2)
    disparity = 0.1 + 0.8 * place[:, :1] * place[:, 1:]
    flow = motion * disparity + 0.01 * torch.randn(count, 2)
    speed = motion.norm(dim=1, keepdim=True)
    return torch.cat([place, flow, speed], 1), disparity


for step in range(args.steps):
    x, disparity = batch()
    loss = (disp_net(x) - disparity).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    if scheduler:
        scheduler.step()
    else:
        optimizer.step()  # here
    if step % 15 == 0:
        print(f"step {step} loss {loss.item():.4f}")
print(f"last loss {loss.item():.4f}")
