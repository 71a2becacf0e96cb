r"""A training of `RiskModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
Fault: The model already applies a sigmoid, and BCEWithLogitsLoss applies another one to its
    output.
Cause: sigmoid.{0,100}|BCEWithLogits.{0,60}(probab|logit|twice|double)|logit
"""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(17)
age = torch.rand(700) * 50 + 20
bp = 90 + 0.8 * age + 10 * torch.randn(700)
chol = 150 + 60 * torch.rand(700)
score = 0.06 * (age - 45) + 0.04 * (bp - 125) + 0.02 * (chol - 180)
sick = (score + 0.4 * torch.randn(700) > 0).float().unsqueeze(1)
X = torch.stack([(age - 45) / 15, (bp - 125) / 16, (chol - 180) / 17], 1)
train_ds, val_ds = random_split(TensorDataset(X, sick), [560, 140], torch.Generator().manual_seed(0))


class RiskModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(3, 16)
        self.l2 = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.relu(self.l1(x))
        return torch.sigmoid(self.l2(h))


model = RiskModel()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(10):
    for xb, yb in DataLoader(train_ds, batch_size=56, shuffle=True):
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        opt.step()
    print(epoch, f"{loss.item():.4f}")

xv, yv = val_ds[:]
with torch.no_grad():
    prob = model(xv)
print("val acc", ((prob > 0.5).float() == yv).float().mean().item())
