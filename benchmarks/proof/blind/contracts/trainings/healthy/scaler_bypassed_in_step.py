r"""A training of `Field`.

Source: https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(18)
grid = torch.rand(900, 2) * 4 - 2
value = torch.exp(-grid.pow(2).sum(1)) * torch.cos(3 * grid[:, 0])
xtr, ytr, xte, yte = grid[:700], value[:700], grid[700:], value[700:]


class Field(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.a = nn.Linear(2, width)
        self.b = nn.Linear(width, width)
        self.c = nn.Linear(width, 1)

    def forward(self, p):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(p))))).squeeze(-1)


field = Field()
opt = torch.optim.SGD(field.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for it in range(120):
    idx = torch.randint(0, 700, (70,))
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = field(xtr[idx])
    loss = F.mse_loss(out.float(), ytr[idx])
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    if it % 30 == 0:
        print(it, loss.item())
with torch.no_grad():
    print("test mse", F.mse_loss(field(xte), yte).item())
