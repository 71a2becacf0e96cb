r"""A training of `TempNet`.

Source: https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(11)
hours = torch.linspace(0, 24, 480).unsqueeze(1)
temp = 12 + 7 * torch.sin((hours - 8) / 24 * 6.283) + 0.5 * torch.randn_like(hours)
feats = torch.cat([torch.sin(hours / 24 * 6.283), torch.cos(hours / 24 * 6.283), hours / 24], 1)
temp = (temp - temp.mean()) / temp.std()


class TempNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(3, 24)
        self.out = nn.Linear(24, 1)

    def forward(self, z):
        return self.out(torch.tanh(self.inp(z)))


model = TempNet()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()
for step in range(120):
    idx = torch.randint(0, 480, (48,))
    loss = loss_fn(model(feats[idx]), temp[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
with torch.no_grad():
    print("final mse", loss_fn(model(feats), temp).item())
