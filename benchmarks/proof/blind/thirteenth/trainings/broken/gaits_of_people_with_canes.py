r"""Learns an embedding of walking patterns so that people who walk with a cane lie together.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TripletMarginLoss.html
Fault: The negative of a triplet is drawn from all recordings without a look at its label, so
    most of the negatives of the large group are of the same kind as the anchor; the loss then
    pushes apart what belongs together and cannot fall to zero.
Cause: negative.*(same|own|any|all|random|label|class|kind)
    |(same|own) (class|label|kind|group).*negative|without (a look|regard|check)
Place: negative|__getitem__|GaitTriplets
"""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(2)
random.seed(2)


def recordings(n, share):
    label = (torch.rand(n) < share).long()
    phase = torch.rand(n, 1) * 6.28
    t = torch.linspace(0, 12, 40)
    wave = torch.sin(t + phase) + 0.3 * torch.sin(2 * t + phase)
    wave = wave + 0.55 * label[:, None] * torch.sin(3 * t + 2 * phase)
    return wave + 0.5 * torch.randn(n, 40), label


class GaitTriplets(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.by_label = {c: (y == c).nonzero().flatten().tolist() for c in (0, 1)}

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        label = self.y[index].item()
        positive = random.choice(self.by_label[label])
        negative = random.randrange(len(self.x))  # here
        return self.x[index], self.x[positive], self.x[negative]


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)
        )

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=1)


x, y = recordings(800, share=0.12)
test_x, test_y = recordings(400, share=0.5)
loader = DataLoader(GaitTriplets(x, y), batch_size=32, shuffle=True)
model = Embedder()
criterion = nn.TripletMarginLoss(margin=0.5)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(25):
    total = 0.0
    for anchor, positive, negative in loader:
        optimizer.zero_grad()
        loss = criterion(model(anchor), model(positive), model(negative))
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: triplet loss {total / len(loader):.4f}")

with torch.no_grad():
    known, asked = model(x), model(test_x)
centres = torch.stack([known[y == c].mean(0) for c in (0, 1)])
guess = torch.cdist(asked, centres).argmin(1)
hits = [(guess[test_y == c] == c).float().mean().item() for c in (0, 1)]
print(f"without cane {hits[0]:.3f}, with cane {hits[1]:.3f}")
