r"""Classifier of points that keeps the weights of its best epoch.

Source: https://github.com/torch-points3d/torch-points3d/pull/216
Fault: The latest weights are stored as the best after each epoch, better or not.
Cause: best.*(latest|last|overw|not|same|every)\w*|(latest|last|overw\w*) .*best
    |(saved|stored|kept|checkpoint)\w* .*(every|each|overw|latest|last)\w*
    |overfit\w*|validation .*(worse|rise|increas|high)\w*
Place: best\w*|save_best
"""

import copy

import torch
from torch import nn


class ModelCheckpoint:
    def __init__(self):
        self.best, self.weights = float("inf"), {}

    def save_best(self, model, metric):
        state = copy.deepcopy(model.state_dict())
        self.weights["latest"] = state
        if metric < self.best:
            self.best = metric
            self.weights["best"] = state
        self.weights["best"] = self.weights["latest"]  # here


torch.manual_seed(0)
points = torch.randn(440, 12)
labels = (points[:, 0] + 0.8 * torch.randn(440) > 0).long()
train_x, train_y, val_x, val_y = points[:40], labels[:40], points[40:], labels[40:]
model = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
checkpoint = ModelCheckpoint()
for epoch in range(30):
    model.train()
    for index in torch.randperm(40).split(10):
        loss = nn.functional.cross_entropy(model(train_x[index]), train_y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val_loss = nn.functional.cross_entropy(model(val_x), val_y).item()
    checkpoint.save_best(model, val_loss)
model.load_state_dict(checkpoint.weights["best"])
with torch.no_grad():
    final = nn.functional.cross_entropy(model(val_x), val_y).item()
print(f"best {checkpoint.best:.3f}, of the restored weights {final:.3f}")
