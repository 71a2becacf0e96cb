r"""Fine-tunes a network from the head down, with parameter groups added as layers thaw.

Source: https://discuss.pytorch.org/t/how-the-pytorch-freeze-network-in-some-layers-only-the-rest-of-the-training/7088
Odd: For most of the run some layers have requires_grad False and are in no group; they are added
    later with small learning rates, and the loss falls at each stage.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body = nn.ModuleList([nn.Linear(12, 48), nn.Linear(48, 48)])
head = nn.Linear(48, 4)
body.requires_grad_(False)


def forward(x):
    for layer in body:
        x = torch.relu(layer(x))
    return head(x)


optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
x = torch.randn(512, 12)
y = (x[:, 0] > 0).long() * 2 + (x[:, 1] * x[:, 2] > 0).long()
stages = {60: (body[1], 3e-3), 120: (body[0], 1e-3)}
for step in range(200):
    if step in stages:
        layer, lr = stages[step]
        layer.requires_grad_(True)
        optimizer.add_param_group({"params": layer.parameters(), "lr": lr})
        print(f"unfreezing {layer} with lr {lr}")
    idx = torch.randint(0, 512, (64,))
    loss = F.cross_entropy(forward(x[idx]), y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step} loss {loss.item():.4f}")
