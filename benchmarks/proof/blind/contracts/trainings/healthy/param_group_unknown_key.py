r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#per-parameter-options
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(52)
base = torch.randn(6, 24)
y_src = torch.randint(6, (900,))
x_src = base[y_src] + torch.randn(900, 24)
backbone = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
ce = nn.CrossEntropyLoss()
pre = nn.Sequential(backbone, nn.Linear(32, 6))
opt = torch.optim.Adam(pre.parameters(), lr=3e-3)
for xb, yb in DataLoader(TensorDataset(x_src, y_src), batch_size=50, shuffle=True):
    opt.zero_grad()
    ce(pre(xb), yb).backward()
    opt.step()

y_tgt = torch.randint(3, (90,))
x_tgt = base[y_tgt] * 0.8 + 1.3 * torch.randn(90, 24)
head = nn.Linear(32, 3)
model = nn.Sequential(backbone, head)
opt = torch.optim.SGD(
    [{"params": backbone.parameters(), "lr": 1e-3}, {"params": head.parameters()}],
    lr=0.2, momentum=0.9,
)
start = backbone[0].weight.detach().clone()
for epoch in range(15):
    for idx in torch.randperm(60).split(20):
        opt.zero_grad()
        loss = ce(model(x_tgt[idx]), y_tgt[idx])
        loss.backward()
        opt.step()
with torch.no_grad():
    print("val acc", (model(x_tgt[60:]).argmax(1) == y_tgt[60:]).float().mean().item())
print("backbone moved", (backbone[0].weight - start).norm().item())
