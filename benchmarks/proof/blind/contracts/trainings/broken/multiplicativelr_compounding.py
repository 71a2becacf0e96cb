r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiplicativeLR.html
Fault: The MultiplicativeLR lambda returns the total decay 0.9**epoch instead of the ratio 0.9, so
    the decay compounds and the learning rate vanishes.
Cause: compound|multiplicative.{0,120}(cumulat|power|ratio|total|vanish|twice|factor|per.?epoch)
    |(learning rate|lr).{0,60}(vanish|collaps|too fast|zero|tiny)
    |multiplies the rate by all of them
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import MultiplicativeLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(83)
n = 700
r = torch.rand(n, 4)
yld = 3 * r[:, 0] * (1 - r[:, 0]) + torch.sin(5 * r[:, 1]) * r[:, 2] - r[:, 3] + 0.03 * torch.randn(n)
loader = DataLoader(TensorDataset(r[:560], yld[:560]), batch_size=56, shuffle=True)

model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = MultiplicativeLR(optimizer, lr_lambda=lambda epoch: 0.9**epoch)
mse = nn.MSELoss()

for epoch in range(20):
    model.train()
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = mse(model(xb).squeeze(1), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    scheduler.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} lr {scheduler.get_last_lr()[0]:.2e} mse {running / len(loader):.4f}")

model.eval()
with torch.no_grad():
    print("val", mse(model(r[560:]).squeeze(1), yld[560:]).item())
