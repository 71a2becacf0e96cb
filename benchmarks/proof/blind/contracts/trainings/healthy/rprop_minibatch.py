r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Rprop.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(82)
n = 512
z = torch.randn(n, 5)
target = torch.sin(z[:, 0]) + 0.5 * z[:, 1] * z[:, 2] + 0.3 * torch.randn(n)
train_set = TensorDataset(z[:400], target[:400])
loader = DataLoader(train_set, batch_size=400, shuffle=True)

model = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Rprop(model.parameters(), lr=0.01)
loss_fn = nn.MSELoss()

step = 0
while step < 150:
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb).squeeze(1), yb)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    val = loss_fn(model(z[400:]).squeeze(1), target[400:])
print("val mse", val.item())
