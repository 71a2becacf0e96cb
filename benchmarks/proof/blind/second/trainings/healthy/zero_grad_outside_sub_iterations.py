"""Trains with several sub-iterations per step, as a point cloud segmentation trainer does.

Source: https://github.com/chrischoy/SpatioTemporalSegmentation/issues/46
Odd: backward is called several times without zero_grad in between; the sub-iterations accumulate on
    purpose and each loss is divided by their number.
"""

import torch
from torch import nn

torch.manual_seed(5)
ITER_SIZE = 4
points = torch.randn(512, 3)
labels = (points.norm(dim=1) > 1.5).long() + (points[:, 2] > 0).long()
model = nn.Sequential(nn.Linear(3, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
criterion = nn.CrossEntropyLoss()


def batches(size):
    while True:
        for rows in torch.randperm(len(points)).split(size):
            yield points[rows], labels[rows]


data_iter = batches(32)
for curr_iter in range(60):
    optimizer.zero_grad()
    batch_loss = 0.0
    for _sub_iter in range(ITER_SIZE):
        x, y = next(data_iter)
        loss = criterion(model(x), y) / ITER_SIZE
        batch_loss += loss.item()
        loss.backward()
    optimizer.step()
    if curr_iter % 10 == 0:
        print(f"iter {curr_iter} loss {batch_loss:.4f}")
