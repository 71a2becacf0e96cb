r"""Ordered grades by a chain of questions, each asked only where the one before was a yes.

Source: https://github.com/Raschka-research-group/coral-pytorch
Odd: There is one output less than grades; each output is trained on a part of the batch, and the
    prediction multiplies the probabilities and counts those above one half.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(17)
grades = 6
taste = torch.randn(10)
borders = torch.tensor([-3.0, -1.2, 0.2, 1.5, 3.0])


def wines(count=128):
    x = torch.randn(count, 10)
    quality = x @ taste + 0.3 * x[:, 0] * x[:, 1] + 0.3 * torch.randn(count)
    return x, torch.bucketize(quality, borders)


def corn_loss(logits, y_train, num_classes):
    num_examples, losses = 0, 0.0
    for i in range(num_classes - 1):
        label_mask = y_train > i - 1
        label_tensor = (y_train[label_mask] > i).float()
        if len(label_tensor) < 1:
            continue
        num_examples += len(label_tensor)
        pred = logits[label_mask, i]
        losses = losses - torch.sum(
            F.logsigmoid(pred) * label_tensor + (F.logsigmoid(pred) - pred) * (1 - label_tensor)
        )
    return losses / num_examples


def corn_label_from_logits(logits):
    return (torch.cumprod(torch.sigmoid(logits), dim=1) > 0.5).sum(dim=1)


model = nn.Sequential(nn.Linear(10, 64), nn.LeakyReLU(), nn.Dropout(0.1), nn.Linear(64, grades - 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for batch_idx in range(120):
    features, targets = wines()
    loss = corn_loss(model(features), targets, grades)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if batch_idx % 30 == 0:
        print(f"Batch {batch_idx:03d} | Loss: {loss.item():.4f}")
model.eval()
with torch.no_grad():
    features, targets = wines(2000)
    mae = (corn_label_from_logits(model(features)) - targets).abs().float().mean().item()
    middle = (targets - targets.float().median()).abs().mean().item()
print(f"mean absolute error {mae:.3f}, of the median {middle:.3f}")
