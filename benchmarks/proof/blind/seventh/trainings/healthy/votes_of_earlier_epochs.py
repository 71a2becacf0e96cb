r"""Two moons with a few labels; each sample should agree with its own earlier predictions.

Source: https://github.com/ferretj/temporal-ensembling
Odd: The second loss has weight zero in the first epoch, its targets start at zero and are
    corrected for that, and most samples have the label -1, which the cross entropy ignores.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
ALPHA, MAX_WEIGHT, RAMP, EPOCHS = 0.6, 3.0, 16, 32


def moons(count):
    y = torch.arange(count) % 2
    a = 3.1416 * torch.rand(count)
    x = torch.stack([torch.cos(a), torch.sin(a)], 1)
    x[y == 1] = torch.stack([1 - torch.cos(a), 0.5 - torch.sin(a)], 1)[y == 1]
    return x + 0.1 * torch.randn(count, 2), y


def ramp_up(epoch):
    if epoch == 0:
        return 0.0
    if epoch >= RAMP:
        return MAX_WEIGHT
    return MAX_WEIGHT * math.exp(-5.0 * (1.0 - epoch / RAMP) ** 2)


x, truth = moons(600)
labels = torch.full_like(truth, -1)
for c in (0, 1):
    labels[torch.nonzero(truth == c)[:8, 0]] = c
test_x, test_y = moons(600)
model = nn.Sequential(
    nn.Linear(2, 64),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(64, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, betas=(0.9, 0.99))
loader = DataLoader(TensorDataset(torch.arange(600), x, labels), batch_size=100, shuffle=True)
ensemble = torch.zeros(600, 2)
targets = torch.zeros(600, 2)
for epoch in range(EPOCHS):
    model.train()
    outputs = torch.zeros(600, 2)
    weight = ramp_up(epoch)
    for index, batch, label in loader:
        out = model(batch + 0.05 * torch.randn_like(batch))
        outputs[index] = out.detach().softmax(1)
        supervised = F.cross_entropy(out, label, ignore_index=-1, reduction="sum") / len(batch)
        agreement = F.mse_loss(out.softmax(1), targets[index])
        loss = supervised + weight * agreement
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ensemble = ALPHA * ensemble + (1 - ALPHA) * outputs
    targets = ensemble / (1 - ALPHA ** (epoch + 1))
    if epoch % 4 == 3:
        model.eval()
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch + 1} weight {weight:.2f} loss {loss.item():.4f} test {accuracy:.3f}")
