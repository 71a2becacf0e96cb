r"""Trains a classifier for a number of iterations with batches drawn from a loader.

Source: https://github.com/ZhaoJ9014/face.evoLVe/pull/39
    https://github.com/leohsuofnthu/Pytorch-IterativeFCN/issues/7
Fault: A new iterator is made in each step and the loader is not shuffled, so only the first batch
    is ever seen: it is memorised, and other data are at chance.
Cause: (same|first|one|single) (mini-?)?batch|iter\(|iterator|shuffl
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, 64), nn.PReLU(), nn.Linear(64, 64), nn.PReLU())
        self.head = nn.Linear(64, 5)

    def forward(self, x):
        return self.head(self.body(x))


def make_faces(n):
    label = torch.randint(0, 5, (n,))
    return identities[label] + 1.5 * torch.randn(n, 24), label


torch.manual_seed(0)
identities = torch.randn(5, 24)
loader = DataLoader(TensorDataset(*make_faces(1024)), batch_size=16, shuffle=False)
val_x, val_y = make_faces(512)
model = Backbone()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for idx in range(150):
    images, labels = next(iter(loader))  # here
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if idx % 30 == 29:
        with torch.no_grad():
            acc = (model(val_x).argmax(1) == val_y).float().mean().item()
        print(f"iter {idx} loss {loss.item():.5f} val accuracy {acc:.3f}")
