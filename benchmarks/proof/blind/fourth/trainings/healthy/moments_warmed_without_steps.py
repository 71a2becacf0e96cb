r"""Finetuning that begins with some iterations at a rate of 0.

Source: https://github.com/Lightning-AI/litgpt/issues/956
Odd: The rate is exactly 0 for eight steps, in which only the moments of the optimizer form; then it
    rises and falls.
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 16)
y = (x @ torch.randn(16, 5)).argmax(1)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)


def rate(step):
    if step < 8:
        return 0.0
    return min(1.0, (step - 7) / 6) * (1 - (step - 8) / 60)


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
for step in range(60):
    index = torch.randint(0, 400, (64,))
    loss = nn.functional.cross_entropy(model(x[index]), y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(f"accuracy {(model(x).argmax(1) == y).float().mean().item():.3f}")
