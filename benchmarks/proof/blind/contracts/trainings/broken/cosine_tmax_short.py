r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html
Fault: CosineAnnealingLR's T_max is shorter than the training, so the learning rate rises again
    after reaching its minimum.
Cause: T_max|cosine.{0,100}(ris|increas|up again|oscillat|period|short|length|epoch)
    |learning rate.{0,60}(ris|increas|goes up|up again|oscillat)
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(58)
n = 900
a, b = torch.rand(n) * 3, torch.rand(n) * 3
cell = (a.floor() + b.floor()).long() % 2
pts = torch.stack([a, b], 1)
dl = DataLoader(TensorDataset(pts[:720], cell[:720]), batch_size=90, shuffle=True)
net = nn.Sequential(nn.Linear(2, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2))
num_epochs = 20
opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
sched = CosineAnnealingLR(opt, T_max=10)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(num_epochs):
    net.train()
    for xb, yb in dl:
        opt.zero_grad()
        loss = loss_fn(net(xb), yb)
        loss.backward()
        opt.step()
    sched.step()
    if epoch % 4 == 3:
        net.eval()
        with torch.no_grad():
            acc = (net(pts[720:]).argmax(1) == cell[720:]).float().mean()
        print(f"epoch {epoch + 1} lr {sched.get_last_lr()[0]:.4f} acc {acc:.3f}")
