r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
centers = 1.5 * torch.randn(8, 14)
big_y = torch.randint(8, (1200,))
big_x = centers[big_y] + torch.randn(1200, 14)
small_y = torch.randint(2, (60,))
small_x = centers[small_y] + 1.2 * torch.randn(60, 14)

features = nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
head = nn.Linear(32, 8)
full = nn.Sequential(features, head)
opt = torch.optim.Adam(full.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for xb, yb in DataLoader(TensorDataset(big_x, big_y), batch_size=40, shuffle=True):
    opt.zero_grad()
    loss_fn(full(xb), yb).backward()
    opt.step()

for param in features.parameters():
    param.requires_grad = False
clf = nn.Sequential(features, nn.Linear(32, 2))
before = features[0].weight.detach().clone()
opt = torch.optim.Adam(clf.parameters(), lr=1e-2)
for epoch in range(20):
    opt.zero_grad()
    loss = loss_fn(clf(small_x), small_y)
    loss.backward()
    opt.step()
print("loss", loss.item())
print("feature change", (features[0].weight - before).abs().max().item())
