r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(28)
D, C = 30, 5
W1, W2 = torch.randn(D, 40) / 5, torch.randn(40, C)
x = torch.randn(1000, D)
y = (torch.relu(x @ W1) @ W2).argmax(1)

model = nn.Sequential(nn.Linear(D, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, C))
base_lr, warmup, total = 0.3, 30, 150
optimizer = torch.optim.SGD(model.parameters(), lr=base_lr, momentum=0.9)
criterion = nn.CrossEntropyLoss()


def lr_at(step):
    if step < warmup:
        return base_lr * (step + 1) / warmup
    return base_lr * (1 - (step - warmup) / (total - warmup))


for step in range(total):
    lr = lr_at(step)
    for group in optimizer.param_groups:
        group["lr"] = lr
    idx = torch.randint(0, 850, (50,))
    optimizer.zero_grad()
    loss = criterion(model(x[idx]), y[idx])
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step + 1} lr {lr:.4f} loss {loss.item():.4f}")
with torch.no_grad():
    print("val acc", (model(x[850:]).argmax(1) == y[850:]).float().mean().item())
