"""Mixed precision on the CPU: autocast, GradScaler, unscale_ and clipping."""

import json

import torch
from torch import nn

torch.manual_seed(16)
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=50)
loss_fn = nn.CrossEntropyLoss()
centers = 2 * torch.randn(4, 8)
losses = []
for epoch in range(4):
    for _ in range(30):
        target = torch.randint(4, (32,))
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            output = net(centers[target] + torch.randn(32, 8))
            loss = loss_fn(output, target)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
        losses.append(loss.item())
    print(f"epoch {epoch} loss {losses[-1]:.4f} scale {scaler.get_scale()}")
print("TRUTH", json.dumps({"net": ["SGD", 120, losses[0], losses[-1]]}))
