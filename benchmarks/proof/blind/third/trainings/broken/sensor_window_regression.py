r"""Regression of a scalar from sensor windows, targets from a dataset of single numbers.

Source: https://github.com/sktime/sktime/issues/10931
Fault: The network gives (batch, 1) and the targets are (batch,), so the loss compares all pairs.
Cause: broadcast|shape.*(target|mismatch|differ)|target size|\(\w+, ?1\)|squeeze
Place: criterion|loss|squeeze|pred|target
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
windows = torch.randn(256, 2, 20)
values = windows[:, 0].mean(1) * 3 + windows[:, 1, -1]
loader = DataLoader(TensorDataset(windows, values), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Conv1d(2, 8, 5), nn.ReLU(), nn.Flatten(), nn.Linear(128, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(15):
    for inputs, outputs in loader:
        y_pred = net(inputs)
        loss = criterion(y_pred, outputs)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"error {(net(windows).squeeze(1) - values).pow(2).mean().item():.3f}")
