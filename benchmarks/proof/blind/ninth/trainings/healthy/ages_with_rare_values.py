"""Ages from faces, most of them young, with more weight on the rare ages.

Source: https://github.com/YyzHarry/imbalanced-regression
Odd: Every example has a weight from a smoothed count of its label, the weights are scaled to a
    mean of one, and most of the young faces count little.
"""

import torch
from torch import nn

torch.manual_seed(1020)
PIXELS, OLDEST, COUNT = 24, 60, 1500
look = torch.randn(3, PIXELS)


def faces(age):
    a = age[:, None] / OLDEST
    features = torch.cat([a, torch.sin(4 * a), a**2], 1)
    return features @ look + 0.25 * torch.randn(len(age), PIXELS)


def prepare_weights(labels, kernel_size=5, sigma=2.0):
    count = torch.bincount(labels.long(), minlength=OLDEST).float()
    value = count.clamp(min=1).sqrt()
    offsets = torch.arange(kernel_size) - kernel_size // 2
    kernel = torch.exp(-(offsets**2) / (2 * sigma**2))
    padded = nn.functional.pad(value[None, None], (2, 2), mode="replicate")
    smoothed = nn.functional.conv1d(padded, kernel.view(1, 1, -1) / kernel.sum()).flatten()
    weights = 1 / smoothed[labels.long()]
    return weights * len(labels) / weights.sum()


train_age = (torch.distributions.Exponential(0.09).sample((COUNT,))).clamp(max=OLDEST - 1).floor()
train_x, weights = faces(train_age), prepare_weights(train_age)
test_age = torch.randint(0, OLDEST, (600,)).float()
test_x = faces(test_age)
model = nn.Sequential(nn.Linear(PIXELS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
model.append(nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def weighted_l1_loss(inputs, targets, weights):
    return ((inputs - targets).abs() * weights.expand_as(inputs)).mean()


for epoch in range(12):
    running = 0.0
    for rows in torch.randperm(COUNT).split(50):
        predicted = model(train_x[rows]).squeeze(1)
        loss = weighted_l1_loss(predicted, train_age[rows], weights[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            error = (model(test_x).squeeze(1) - test_age).abs()
        old = error[test_age >= 40].mean().item()
        print(f"epoch {epoch + 1} loss {running / 30:.3f} all {error.mean():.3f} old {old:.3f}")
