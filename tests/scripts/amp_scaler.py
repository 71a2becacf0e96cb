"""Mixed precision as the tutorial has it, on a CPU: some steps overflow and are skipped."""

import argparse
import torch
from torch import nn

cli = argparse.ArgumentParser()
cli.add_argument("weights")
cli.add_argument("--clip", type=float, default=0.0)
a = cli.parse_args()

torch.manual_seed(5)
net = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
loss_fn = nn.MSELoss()

for step in range(10):
    x, y = torch.randn(16, 8), torch.randn(16, 4)
    if step in (2, 6):
        y[0] = 1e5  # the gradients overflow: the scaler skips the step
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x)
        loss = loss_fn(out.float(), y)
    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    if a.clip:
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), a.clip)
    # truth: before("net", opt, loss, scale=scale, unscaled=bool(a.clip), skipped=step in (2, 6))
    scaler.step(opt)
    # truth: after("net")
    scaler.update()
    print(f"step={step} loss={loss.item():.6g} scale={scale:g} -> {scaler.get_scale():g}")

torch.save(net.state_dict(), a.weights)
