"""A sparse mixture of experts: in a small batch some experts get no token."""

import json

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(24)


class Expert(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w1, self.w2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)))


class MoE(nn.Module):
    def __init__(self, dim, experts, k=1):
        super().__init__()
        self.experts = nn.ModuleList(Expert(dim) for _ in range(experts))
        self.gate = nn.Linear(dim, experts, bias=False)
        self.k = k

    def forward(self, x):
        scores = F.softmax(self.gate(x), dim=-1)
        weights, chosen = scores.topk(self.k, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == i)
            if rows.numel():
                out = out.index_add(0, rows, weights[rows, place, None] * expert(x[rows]))
        load = F.one_hot(chosen, len(self.experts)).float().mean((0, 1))
        self.aux_loss = len(self.experts) * (load * scores.mean(0)).sum()
        return out


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.moe, self.head = nn.Linear(8, 16), MoE(16, 8), nn.Linear(16, 4)

    def forward(self, x):
        x = self.inp(x)
        return self.head(x + self.moe(x))


model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
centers = 2 * torch.randn(4, 8)
losses = []
for step in range(150):
    y = torch.randint(4, (8,))
    loss = F.cross_entropy(model(centers[y] + torch.randn(8, 8)), y) + 0.01 * model.moe.aux_loss
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 50 == 0:
        print(step, loss.item())
print("TRUTH", json.dumps({"model": ["AdamW", 150, losses[0], losses[-1]]}))
