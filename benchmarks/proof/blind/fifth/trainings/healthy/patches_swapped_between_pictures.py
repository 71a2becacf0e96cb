r"""Image classifier with pictures that are pasted together.

Source: https://github.com/clovaai/CutMix-PyTorch
Odd: A random permutation of the labels enters the loss, weighted by the area of its patch.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

np.random.seed(0)
torch.manual_seed(0)
textures = torch.randn(5, 1, 4, 4).repeat(1, 1, 4, 4)


def rand_bbox(size, lam):
    cut = int(size * np.sqrt(1.0 - lam))
    cx, cy = np.random.randint(size, size=2)
    low = np.clip([cx - cut // 2, cy - cut // 2], 0, size)
    high = np.clip([cx + cut // 2, cy + cut // 2], 0, size)
    return *low, *high


model = nn.Sequential(
    nn.Conv2d(1, 16, 4, stride=4),
    nn.ReLU(),
    nn.Conv2d(16, 32, 1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, 5),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
for i in range(100):
    target = torch.randint(0, 5, (48,))
    images = textures[target] + torch.randn(48, 1, 16, 16)
    if np.random.rand() < 0.5:
        lam = np.random.beta(1.0, 1.0)
        rand_index = torch.randperm(48)
        x1, y1, x2, y2 = rand_bbox(16, lam)
        images[:, :, x1:x2, y1:y2] = images[rand_index, :, x1:x2, y1:y2]
        lam = 1 - (x2 - x1) * (y2 - y1) / 256
        output = model(images)
        loss = lam * F.cross_entropy(output, target)
        loss = loss + (1.0 - lam) * F.cross_entropy(output, target[rand_index])
    else:
        output = model(images)
        loss = F.cross_entropy(output, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
target = torch.randint(0, 5, (300,))
with torch.no_grad():
    guess = model(textures[target] + torch.randn(300, 1, 16, 16)).argmax(1)
print(f"loss {loss.item():.4f} accuracy {(guess == target).float().mean().item():.3f}")
