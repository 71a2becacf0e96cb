r"""Iterative magnitude pruning with rewinding to the initial weights.

Source: https://github.com/facebookresearch/open_lth
    https://github.com/rahulvigneswaran/Lottery-Ticket-Hypothesis-in-Pytorch
Odd: The weights are reset in the middle of the run, three times, and the loss jumps back; each
    round trains the initial values under a smaller mask.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 96), nn.ReLU(), nn.Linear(96, 3))
initial = copy.deepcopy(model.state_dict())
masks = {n: torch.ones_like(p) for n, p in model.named_parameters() if p.dim() > 1}
teacher = torch.randn(16, 3)
for level in range(4):
    model.load_state_dict(initial)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(60):
        for n, p in model.named_parameters():
            if n in masks:
                p.data.mul_(masks[n])
        x = torch.randn(64, 16)
        loss = F.cross_entropy(model(x), (x @ teacher).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (0, 59):
            left = sum(m.sum() for m in masks.values()) / sum(m.numel() for m in masks.values())
            print(f"level {level} weights left {left:.2f} step {step} loss {loss.item():.4f}")
    for n, p in model.named_parameters():
        if n in masks:
            alive = p.data[masks[n] > 0].abs()
            masks[n] *= p.data.abs() > alive.quantile(0.4)
