r"""Finetuning where each layer further from the output has a smaller rate.

Source: https://github.com/microsoft/unilm/blob/master/beit/optim_factory.py
Odd: The first layers have a rate of about a hundredth of that of the head.
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(480, 20)
first = (x @ torch.randn(20, 6)).argmax(1)
second = (first % 3 == 1).long()
layers = [nn.Sequential(nn.Linear(20 if i == 0 else 48, 48), nn.ReLU()) for i in range(4)]
body = nn.Sequential(*layers)
old_head, head = nn.Linear(48, 6), nn.Linear(48, 2)
pretraining = torch.optim.Adam([*body.parameters(), *old_head.parameters()], lr=8e-3)
for _ in range(30):
    index = torch.randint(0, 480, (96,))
    loss = nn.functional.cross_entropy(old_head(body(x[index])), first[index])
    pretraining.zero_grad()
    loss.backward()
    pretraining.step()
print(f"pretrained with loss {loss.item():.3f}")
groups = [{"params": head.parameters(), "lr": 3e-2}]
for depth, layer in enumerate(reversed(layers), 1):
    groups.append({"params": layer.parameters(), "lr": 3e-2 * 0.35**depth})
optimizer = torch.optim.AdamW(groups, weight_decay=0.05)
for _ in range(30):
    index = torch.randint(0, 480, (64,))
    loss = nn.functional.cross_entropy(head(body(x[index])), second[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"accuracy {(head(body(x)).argmax(1) == second).float().mean().item():.3f}")
