r"""A training.

Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(50)
mu = 2 * torch.randn(5, 12)
lab = torch.randint(5, (1000,))
src = mu[lab] + torch.randn(1000, 12)
backbone = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU())
pre_head = nn.Linear(16, 5)
ce = nn.CrossEntropyLoss()
opt = torch.optim.Adam([*backbone.parameters(), *pre_head.parameters()], lr=5e-3)
for idx in torch.randperm(1000).split(50):
    opt.zero_grad()
    ce(pre_head(backbone(src[idx])), lab[idx]).backward()
    opt.step()

new_lab = torch.randint(2, (120,))
new_x = mu[new_lab] * 1.5 + 3 + torch.randn(120, 12)
for p in backbone.parameters():
    p.requires_grad_(False)
head = nn.Linear(16, 2)
model = nn.Sequential(backbone, head)
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
for epoch in range(10):
    model.train()
    backbone.eval()
    for idx in torch.randperm(120).split(24):
        opt.zero_grad()
        loss = ce(model(new_x[idx]), new_lab[idx])
        loss.backward()
        opt.step()
print("fine-tune loss", loss.item())
backbone.eval()
pre_head.eval()
with torch.no_grad():
    print("source acc", (pre_head(backbone(src)).argmax(1) == lab).float().mean().item())
