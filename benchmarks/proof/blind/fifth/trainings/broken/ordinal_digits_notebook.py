r"""Notebook for ordinal regression of digits, with cumulative logits.

Source: https://github.com/ck37/coral-ordinal/issues/6
Fault: The test loader shuffles, but its predictions are compared with the labels as stored.
Cause: shuffl\w*|(order|align)\w* .*(labels?|target|prediction)
    |(label|prediction)s? .*(order|misalign|mismatch|do(es)? not (match|belong))
Place: \btest_loader\b|\btest_labels\b
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

NUM_CLASSES = 6
torch.manual_seed(0)


def make(count):
    rank = torch.rand(count) * NUM_CLASSES
    direction = torch.linspace(-1, 1, 16)
    x = torch.outer(rank - 3, direction) + 0.5 * torch.randn(count, 16)
    return x, rank.long()


class CoralOrdinal(nn.Module):
    """One shared weight vector and a bias for each threshold."""

    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, 1, bias=False)
        self.linear_1_bias = nn.Parameter(torch.linspace(1, -1, NUM_CLASSES - 1))

    def forward(self, x):
        return self.fc(x) + self.linear_1_bias


def coral_loss(logits, labels):
    levels = (labels[:, None] > torch.arange(NUM_CLASSES - 1)).float()
    return F.binary_cross_entropy_with_logits(logits, levels)


train_images, train_labels = make(600)
test_images, test_labels = make(400)
train_loader = DataLoader(TensorDataset(train_images, train_labels), 50, shuffle=True)
test_loader = DataLoader(TensorDataset(test_images, test_labels), 50, shuffle=True)  # here

model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), CoralOrdinal(32))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(6):
    for images, labels in train_loader:
        loss = coral_loss(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    logits = torch.cat([model(images) for images, _ in test_loader])
predicted = (logits > 0).sum(1)
accuracy = (predicted == test_labels).float().mean().item()
mae = (predicted - test_labels).abs().float().mean().item()
print(f"accuracy {accuracy:.3f}, mean absolute error {mae:.3f}")
