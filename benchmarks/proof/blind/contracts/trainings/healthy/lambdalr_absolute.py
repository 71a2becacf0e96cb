r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(76)
n, T = 600, 20
slope = torch.randn(n) * 0.2
curve = slope[:, None] * torch.arange(T) + 0.5 * torch.randn(n, T)
up = (slope > 0).long()
loader = DataLoader(TensorDataset(curve[:500], up[:500]), batch_size=50, shuffle=True)

EPOCHS, BASE = 10, 0.02
model = nn.Sequential(nn.Linear(T, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = optim.SGD(model.parameters(), lr=BASE, momentum=0.9)


def poly(epoch):
    return (1 - epoch / EPOCHS) ** 0.9


scheduler = optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=poly)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(EPOCHS):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.6f}")
model.eval()
with torch.no_grad():
    print("acc", (model(curve[500:]).argmax(1) == up[500:]).float().mean().item())
