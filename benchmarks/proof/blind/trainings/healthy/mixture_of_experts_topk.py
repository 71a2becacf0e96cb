r"""A mixture of experts with routing to the best expert and a balance loss.

Source: https://github.com/lucidrains/mixture-of-experts
    https://github.com/davidmrau/mixture-of-experts/blob/master/moe.py
Odd: An expert that no token of the batch chooses gets no gradient in that step; over the run all
    experts are used and trained.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SwitchFFN(nn.Module):
    def __init__(self, dim=16, num_experts=6):
        super().__init__()
        self.gate = nn.Linear(dim, num_experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, dim))
            for _ in range(num_experts)
        )

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        weight, index = probs.max(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            chosen = index == i
            if chosen.any():
                out[chosen] = weight[chosen, None] * expert(x[chosen])
        load = F.one_hot(index, len(self.experts)).float().mean(0)
        return x + out, len(self.experts) * (load * probs.mean(0)).sum()


torch.manual_seed(0)
moe, head = SwitchFFN(), nn.Linear(16, 5)
optimizer = torch.optim.Adam([*moe.parameters(), *head.parameters()], lr=5e-3)
centers = 2 * torch.randn(20, 16)
for step in range(250):
    cluster = torch.randint(0, 20, (16,))
    x, y = centers[cluster] + 0.5 * torch.randn(16, 16), cluster % 5
    hidden, aux = moe(x)
    loss = F.cross_entropy(head(hidden), y)
    optimizer.zero_grad()
    (loss + 0.01 * aux).backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step} loss {loss.item():.4f} aux {aux.item():.3f}")
