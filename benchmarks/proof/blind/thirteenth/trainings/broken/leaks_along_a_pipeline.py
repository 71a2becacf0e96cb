r"""Finds the rare leaks of a pipeline in readings of pressure and reports an F1 value.

Source: https://docs.pytorch.org/torcheval/main/generated/torcheval.metrics.MulticlassF1Score.html
Fault: The F1 value is computed for every small batch and then averaged; it is no mean of parts,
    and a batch without a leak counts as zero, so the number that is printed is far below the
    true F1 of the whole set and hangs on the size of the batch.
Cause: f1.*(batch|averag|mean)|(averag|mean).*(f1|per[- ]batch|of batches)|per[- ]batch.*f1
    |(precision|recall|metric|score).*(batch|averag)|count.*(whole|all|over)
Place: f1|evaluate|scores|total
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(33)


def readings(n):
    leak = (torch.rand(n) < 0.06).float()
    t = torch.linspace(0, 1, 30)
    base = 5 + torch.randn(n, 1) * 0.4 - 0.5 * t
    start = torch.rand(n, 1) * 0.6
    drop = leak[:, None] * torch.relu(t - start) * (1.5 + torch.rand(n, 1))
    return base - drop + 0.12 * torch.randn(n, 30), leak


class LeakNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 16, 5, padding=2), nn.ReLU(),
        )
        self.out = nn.Linear(16 * 15, 1)

    def forward(self, x):
        h = self.conv(x.unsqueeze(1) - 5)
        return self.out(h.flatten(1)).squeeze(1)


def f1_score(guess, truth):
    hit = (guess * truth).sum()
    precision = hit / guess.sum().clamp(min=1)
    recall = hit / truth.sum().clamp(min=1)
    return (2 * precision * recall / (precision + recall).clamp(min=1e-8)).item()


def evaluate(model, loader):
    model.eval()
    scores = []
    with torch.no_grad():
        for x, y in loader:
            guess = (model(x) > 0).float()
            scores.append(f1_score(guess, y))
    return sum(scores) / len(scores)  # here


train_loader = DataLoader(TensorDataset(*readings(3000)), batch_size=64, shuffle=True)
valid_loader = DataLoader(TensorDataset(*readings(800)), batch_size=16)
model = LeakNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(10):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(f"epoch {epoch}: valid F1 {evaluate(model, valid_loader):.3f}")
