r"""Trains a small image classifier with label smoothing of 0.2.

Source: https://github.com/pytorch/vision/blob/main/references/classification/train.py
    https://pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
Odd: The loss stops at about 1.0 although the accuracy is one; with smoothed targets no model can
    go below their entropy.
"""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(128, 10)
)
criterion = nn.CrossEntropyLoss(label_smoothing=0.2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
templates = torch.randn(10, 1, 10, 10)
for i in range(150):
    target = torch.randint(0, 10, (64,))
    image = templates[target] + 0.5 * torch.randn(64, 1, 10, 10)
    output = model(image)
    loss = criterion(output, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 30 == 29:
        acc1 = (output.argmax(1) == target).float().mean().item() * 100
        print(f"iter {i} loss {loss.item():.4f} acc1 {acc1:.1f}")
