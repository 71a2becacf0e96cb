"""Curriculum learning: the training set grows from easy to hard samples.

Source: https://github.com/wandb/senpai/pull/2044
    https://github.com/wandb/senpai/pull/344
Odd: the data is sorted and the loss jumps up at each stage; harder samples are added on purpose,
    and the last stage has all of them.
"""

import torch
from torch import nn

torch.manual_seed(14)
x = torch.rand(600, 2) * 4 - 2
margin = x[:, 1] - torch.sin(2 * x[:, 0])
y = (margin > 0).long()
order = margin.abs().argsort(descending=True)
model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for stage, share in enumerate((0.25, 0.5, 0.75, 1.0)):
    rows_of_stage = order[: int(600 * share)]
    for epoch in range(6):
        total, count = 0.0, 0
        for rows in rows_of_stage[torch.randperm(len(rows_of_stage))].split(50):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, count = total + loss.item(), count + 1
        if epoch in (0, 5):
            accuracy = (model(x).argmax(1) == y).float().mean().item()
            print(f"stage {stage} epoch {epoch} loss {total / count:.4f} all {accuracy:.3f}")
