r"""Trains a point cloud classifier by drawing a batch in each step.

Source: https://github.com/wandb/examples/issues/444
    https://github.com/leohsuofnthu/Pytorch-IterativeFCN/issues/7
Fault: next(iter(loader)) makes a new iterator in each step and the loader does not shuffle, so
    every step uses the first batch only.
Cause: iter\(|(same|first|one|single) batch|new iterator
Place: next\(|iter\(|train_loader
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


def clouds(n):
    label = torch.randint(0, 3, (n,))
    points = torch.randn(n, 32, 3)
    sphere = points / points.norm(dim=2, keepdim=True)
    cube = points.clamp(-0.7, 0.7)
    line = points * torch.tensor([1.0, 0.1, 0.1])
    shapes = torch.stack([sphere, cube, line])
    return shapes[label, torch.arange(n)] + 0.12 * torch.randn(n, 32, 3), label


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, points):
        return self.head(self.local(points).max(1).values)


train_loader = DataLoader(TensorDataset(*clouds(320)), batch_size=4, shuffle=False)
val_points, val_labels = clouds(200)
model = PointNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    for _batch_idx in range(len(train_loader) // 2):
        points, labels = next(iter(train_loader))  # here
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(points), labels)
        loss.backward()
        optimizer.step()
    accuracy = (model(val_points).argmax(1) == val_labels).float().mean().item()
    print(f"epoch {epoch} train loss {loss.item():.4f} val accuracy {accuracy:.3f}")
