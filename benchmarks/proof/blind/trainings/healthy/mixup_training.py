r"""Trains a classifier with mixup of inputs and labels.

Source: https://github.com/facebookresearch/mixup-cifar10/blob/main/train.py
Odd: The training loss stays high and the training accuracy is low, while the accuracy on clean data
    is nearly perfect; each training image is a blend of two.
"""

import numpy as np
import torch
from torch import nn


def mixup_data(x, y, alpha):
    lam = np.random.beta(alpha, alpha)
    index = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[index], y, y[index], lam


def mixup_criterion(criterion, pred, y_a, y_b, lam):
    return lam * criterion(pred, y_a) + (1 - lam) * criterion(pred, y_b)


np.random.seed(0)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 8))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
centers = torch.randn(8, 30)
for batch_idx in range(200):
    targets = torch.randint(0, 8, (64,))
    inputs = centers[targets] + 0.5 * torch.randn(64, 30)
    mixed, targets_a, targets_b, lam = mixup_data(inputs, targets, 1.0)
    outputs = net(mixed)
    loss = mixup_criterion(criterion, outputs, targets_a, targets_b, lam)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if batch_idx % 40 == 39:
        with torch.no_grad():
            clean = (net(inputs).argmax(1) == targets).float().mean().item()
        print(f"{batch_idx} mixed loss {loss.item():.3f} clean accuracy {clean:.3f}")
