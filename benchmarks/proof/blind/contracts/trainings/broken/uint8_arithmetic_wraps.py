r"""A training.

Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch-dtype
Fault: The mean is subtracted while the images are still uint8, so all values below it wrap around
    to large numbers.
Cause: uint8|wrap|overflow|underflow|unsigned|integer|dtype
"""

import torch
from torch import nn

torch.manual_seed(188)
H = 9
yy, xx = torch.meshgrid(torch.arange(H), torch.arange(H), indexing="ij")
cls = torch.randint(0, 3, (540,))
angle = cls * 1.0472
phase = 0.5 * torch.rand(540)
arg = angle.cos()[:, None, None] * xx + angle.sin()[:, None, None] * yy
pics = 128 + 45 * torch.sin(arg + phase[:, None, None]) + 20 * torch.randn(540, H, H)
pics = pics.clamp(0, 255).to(torch.uint8)

centered = pics - 128
x = centered.float() / 64
x = x.flatten(1)
xtr, ytr, xte, yte = x[:300], cls[:300], x[300:], cls[300:]

model = nn.Sequential(nn.Linear(H * H, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    for idx in torch.randperm(300).split(30):
        optimizer.zero_grad()
        loss = criterion(model(xtr[idx]), ytr[idx])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    print("test acc", (model(xte).argmax(1) == yte).float().mean().item())
