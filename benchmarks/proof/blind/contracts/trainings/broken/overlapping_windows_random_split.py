r"""A training.

Source: https://scikit-learn.org/stable/modules/generated/sklearn.model_selection.TimeSeriesSplit.html
Fault: Overlapping windows of one time series are split at random, so nearly identical windows lie
    in training and test.
Cause: leak|overlap|random(ly)? split|chronolog|time.?order|future|neighbou?r\w*.{0,40}window
    |shuffl
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split

torch.manual_seed(178)
walk = torch.randn(500).cumsum(0)
season = 2 * torch.sin(torch.arange(500) / 7.0)
series = walk + season
W, H = 24, 12
windows = series.unfold(0, W + H, 1)
inputs, future = windows[:, :W], windows[:, -1:]
scale = series[:350].std()
data = TensorDataset((inputs - inputs[:, -1:]) / scale, (future - inputs[:, -1:]) / scale)

n_test = len(data) // 5
train_set, test_set = random_split(data, [len(data) - n_test, n_test])
model = nn.Sequential(nn.Linear(W, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()
for epoch in range(20):
    for xb, yb in DataLoader(train_set, batch_size=64, shuffle=True):
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} train mse {loss.item():.4f}")
model.eval()
with torch.no_grad():
    total = sum(loss_fn(model(xb), yb).item() * len(xb) for xb, yb in DataLoader(test_set, batch_size=64))
print("test mse", total / len(test_set))
