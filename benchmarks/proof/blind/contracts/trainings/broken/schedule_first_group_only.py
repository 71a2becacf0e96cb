r"""A training of `Recommender`.

Source: https://docs.pytorch.org/docs/stable/optim.html#per-parameter-options
Fault: The hand-written schedule changes only param_groups[0], so the other parameter group keeps
    its initial learning rate.
Cause: (param_)?groups?.{0,80}(only|first|second|other|\[0\]|all)
    |only.{0,30}(one|first) (param\w* )?group
"""

import math
import torch
from torch import nn

torch.manual_seed(36)
users, items, dim = 60, 40, 4
U, I = torch.randn(users, dim), torch.randn(items, dim)
pairs = torch.cartesian_prod(torch.arange(users), torch.arange(items))
rating = (U[pairs[:, 0]] * I[pairs[:, 1]]).sum(1) + 0.3 * torch.randn(len(pairs))
order = torch.randperm(len(pairs))
train, test = order[:1900], order[1900:]


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(users, 8), nn.Embedding(items, 8)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, p):
        u, i = self.user(p[:, 0]), self.item(p[:, 1])
        return (u * i).sum(1) + self.mlp(torch.cat([u, i], 1)).squeeze(1)


net = Recommender()
emb = [*net.user.parameters(), *net.item.parameters()]
opt = torch.optim.Adam([{"params": net.mlp.parameters(), "lr": 5e-3}, {"params": emb, "lr": 1.5e-1}])
initial = [g["lr"] for g in opt.param_groups]
steps = 150
for step in range(steps):
    factor = 0.5 * (1 + math.cos(math.pi * step / steps))
    opt.param_groups[0]["lr"] = initial[0] * factor
    idx = train[torch.randint(len(train), (128,))]
    loss = nn.functional.mse_loss(net(pairs[idx]), rating[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    print("test mse", nn.functional.mse_loss(net(pairs[test]), rating[test]).item())
