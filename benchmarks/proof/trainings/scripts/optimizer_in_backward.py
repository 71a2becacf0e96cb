"""In the style of the tutorial: an optimizer of each parameter that steps inside backward."""

import json

import torch
from torch import nn

torch.manual_seed(28)
model = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4))
optimizer_dict = {p: torch.optim.Adam([p], lr=3e-3, foreach=False) for p in model.parameters()}


def optimizer_hook(parameter) -> None:
    optimizer_dict[parameter].step()
    optimizer_dict[parameter].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(optimizer_hook)

centers = 2 * torch.randn(4, 8)
losses = []
for i in range(100):
    y = torch.randint(4, (32,))
    loss = nn.functional.cross_entropy(model(centers[y] + torch.randn(32, 8)), y)
    loss.backward()
    losses.append(loss.item())
    if i % 25 == 0:
        print(i, loss.item())
print("TRUTH", json.dumps({"model": ["Adam", 100, losses[0], losses[-1]]}))
