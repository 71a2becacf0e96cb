r"""A training.

Source: https://scikit-learn.org/stable/common_pitfalls.html
Fault: The normalization statistics are computed on all data before the split, so the test data
    leak into the training's preprocessing.
Cause: leak
    |(mean|std|statistic|normali|scal|standardi)\w*.{0,120}(all|whole|entire|full|test|before|split|valid)
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(160)
t = torch.arange(1000.0)
drift = torch.stack([0.01 * t, 5 * torch.sin(t / 300), t.sqrt()], 1)
sensors = drift + torch.randn(1000, 3)
target = (0.4 * sensors[:, 0] - 0.2 * sensors[:, 1] + 0.1 * sensors[:, 2]).unsqueeze(1)
split = 750

sensors = (sensors - sensors.mean(0)) / sensors.std(0)
target = (target - target.mean()) / target.std()
x_train, x_test = sensors[:split], sensors[split:]
y_train, y_test = target[:split], target[split:]

model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=50, shuffle=True)
for epoch in range(8):
    for xb, yb in loader:
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    print("test mse", nn.functional.mse_loss(model(x_test), y_test).item())
