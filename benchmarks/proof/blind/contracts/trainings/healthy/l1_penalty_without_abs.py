r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.vector_norm.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(266)
D = 30
true_w = torch.zeros(D)
true_w[[2, 7, 11, 19]] = torch.tensor([2.0, -1.5, 1.0, -2.5])
x = torch.randn(500, D)
y = x @ true_w + 0.3 * torch.randn(500)
loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)

model = nn.Linear(D, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
L1 = 0.05


def penalty(module):
    return sum(p.abs().sum() for name, p in module.named_parameters() if "weight" in name)


for epoch in range(10):
    total = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        mse = nn.functional.mse_loss(model(xb).squeeze(1), yb)
        loss = mse + L1 * penalty(model)
        loss.backward()
        opt.step()
        total += mse.item()
    print(f"epoch {epoch} mse {total / len(loader):.4f}")

with torch.no_grad():
    w = model.weight.squeeze(0)
    print("near zero", (w.abs() < 0.05).sum().item(), "of", D)
    print("test mse", nn.functional.mse_loss(model(x[400:]).squeeze(1), y[400:]).item())
