r"""A training.

Source: https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
Fault: Gradient clipping is done after optimizer.step, so the update already used the unclipped
    gradients.
Cause: clip\w*.{0,100}(after|too late|step|no effect|not (clipped|limit|effective)|order)
    |(un|not |never )clipped
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(27)
x = torch.randn(768, 8)
noise = torch.distributions.StudentT(1.5).sample((768,))
y = 3 * x[:, 0] - 2 * x[:, 1] * x[:, 2] + noise
loader = DataLoader(TensorDataset(x[:640], y[:640]), batch_size=32, shuffle=True)

reg = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.SGD(reg.parameters(), lr=0.01, momentum=0.9)
MAX_NORM = 1.0

for epoch in range(6):
    reg.train()
    epoch_loss = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        pred = reg(xb).squeeze(-1)
        loss = F.mse_loss(pred, yb)
        loss.backward()
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(reg.parameters(), MAX_NORM)
        epoch_loss += loss.item() * len(xb)
    print(f"epoch {epoch}: {epoch_loss / 640:.3f}")

reg.eval()
with torch.no_grad():
    mae = (reg(x[640:]).squeeze(-1) - y[640:]).abs().median()
print(f"median abs error {mae.item():.3f}")
