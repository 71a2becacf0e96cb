r"""Plain convolutional network for floor tiles, with dropout after the global pooling.

Source: https://github.com/Coderx7/SimpleNet/issues/2
Fault: The functional dropout is told to be in training always, so it goes on in the evaluation and
    the predictions are random and worse.
Cause: dropout\w*.{0,80}(eval|test|inference|always|still|active|validat|never (off|disabled)
    |training)|training ?= ?True|(random|different|vary|non.?determin|stochastic)\w*.{0,60}(eval
    |predict|output|test)
Place: dropout\w*|training|forward
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(193)
KINDS = 10
tiles = torch.randn(KINDS, 3, 5, 5)


def floor(count):
    kind = torch.randint(0, KINDS, (count,))
    images = 0.9 * torch.randn(count, 3, 12, 12)
    for i, k in enumerate(kind.tolist()):
        top, left = torch.randint(0, 8, (2,)).tolist()
        images[i, :, top : top + 5, left : left + 5] += tiles[k]
    return TensorDataset(images, kind)


class SimpleNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = self._make_layers()
        self.classifier = nn.Linear(48, classes)
        self.drp = 0.6

    def _make_layers(self):
        layers, inputs = [], 3
        for width in (24, 48):
            layers += [nn.Conv2d(inputs, width, 3), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
            inputs = width
        return nn.Sequential(*layers)

    def forward(self, x):
        out = self.features(x)
        out = F.max_pool2d(out, kernel_size=out.size()[2:])
        out = F.dropout2d(out, self.drp, training=True)  # here
        return self.classifier(out.flatten(1))


def accuracy(model, loader):
    model.eval()
    hits, total = 0, 0
    with torch.no_grad():
        for images, kind in loader:
            hits += (model(images).argmax(1) == kind).sum().item()
            total += len(kind)
    return hits / total


train_loader = DataLoader(floor(1200), batch_size=48, shuffle=True)
test_loader = DataLoader(floor(500), batch_size=250)
model = SimpleNet(KINDS)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for images, kind in train_loader:
        loss = F.cross_entropy(model(images), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} test accuracy {accuracy(model, test_loader):.4f}")
again = accuracy(model, test_loader)
print(f"test accuracy once more {again:.4f}")
