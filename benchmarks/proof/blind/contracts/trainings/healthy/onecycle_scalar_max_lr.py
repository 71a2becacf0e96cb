r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR

torch.manual_seed(91)
base = torch.randn(5, 16)
y0 = torch.randint(5, (1000,))
x0 = base[y0] + 0.9 * torch.randn(1000, 16)
body = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
ce = nn.CrossEntropyLoss()
pre = nn.Sequential(body, nn.Linear(24, 5))
opt = torch.optim.Adam(pre.parameters(), lr=5e-3)
for idx in torch.randperm(1000).split(50):
    opt.zero_grad()
    ce(pre(x0[idx]), y0[idx]).backward()
    opt.step()

y1 = torch.randint(2, (100,))
x1 = base[y1] + 1.2 * torch.randn(100, 16)
model = nn.Sequential(body, nn.Linear(24, 2))
groups = [{"params": model[0].parameters(), "lr": 1e-4}, {"params": model[1].parameters(), "lr": 2e-2}]
opt = torch.optim.AdamW(groups)
steps = 60
sched = OneCycleLR(opt, max_lr=[1e-4, 2e-2], total_steps=steps)
ref = body[0].weight.detach().clone()
for step in range(steps):
    idx = torch.randint(0, 70, (20,))
    opt.zero_grad()
    loss = ce(model(x1[idx]), y1[idx])
    loss.backward()
    opt.step()
    sched.step()
with torch.no_grad():
    print("val acc", (model(x1[70:]).argmax(1) == y1[70:]).float().mean().item())
    print("body drift", (body[0].weight - ref).norm().item())
