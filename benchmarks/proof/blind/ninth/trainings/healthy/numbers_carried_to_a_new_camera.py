"""Classifier carried over to a new camera without the old pictures and without new labels.

Source: https://github.com/tim-learn/SHOT
Odd: The classifier layer is frozen on purpose, the loss of the second part is negative because
    the entropy of the mean prediction is subtracted, and only the extractor is trained.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1002)
CLASSES, PIXELS = 5, 24
centre = 1.2 * torch.randn(CLASSES, PIXELS)
turn = torch.linalg.qr(torch.eye(PIXELS) + 0.3 * torch.randn(PIXELS, PIXELS)).Q
turn = turn * turn.diag().sign()


def draw(count, new=False):
    label = torch.randint(0, CLASSES, (count,))
    x = centre[label] + 0.8 * torch.randn(count, PIXELS)
    return (x @ turn + 1.0 if new else x), label


extractor = nn.Sequential(nn.Linear(PIXELS, 48), nn.ReLU(), nn.Linear(48, 32), nn.BatchNorm1d(32))
classifier = nn.utils.parametrizations.weight_norm(nn.Linear(32, CLASSES))
optimizer = torch.optim.SGD(
    [*extractor.parameters(), *classifier.parameters()], lr=0.05, momentum=0.9
)
for step in range(120):
    x, y = draw(64)
    loss = F.cross_entropy(classifier(extractor(x)), y, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"source loss {loss.item():.4f}")

for p in classifier.parameters():
    p.requires_grad_(False)
x_new, y_new = draw(600, new=True)
optimizer = torch.optim.SGD(extractor.parameters(), lr=0.01, momentum=0.9)


def accuracy():
    extractor.eval()
    with torch.no_grad():
        right = (classifier(extractor(x_new)).argmax(1) == y_new).float().mean().item()
    extractor.train()
    return right


print(f"before {accuracy():.3f}")
for epoch in range(10):
    for rows in torch.randperm(600).split(60):
        soft = classifier(extractor(x_new[rows])).softmax(1)
        entropy = -(soft * (soft + 1e-5).log()).sum(1).mean()
        mean = soft.mean(0)
        loss = entropy + (mean * (mean + 1e-5).log()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(f"epoch {epoch + 1} loss {loss.item():.4f} accuracy {accuracy():.3f}")
