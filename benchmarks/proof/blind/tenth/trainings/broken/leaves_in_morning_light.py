r"""Species of trees from coloured pictures of leaves, brightened and darkened at random.

Source: https://github.com/LCAV/LenslessPiCam/pull/173
Fault: The pictures are still uint8 when they are multiplied with the brightness in per cent, so the
    product wraps around at 256 and the augmented pictures are noise.
Cause: uint8|overflow|wrap|8.?bit|byte|modulo|dtype|integer.{0,60}(multipl|brightness|range)|(cast
    |convert|float).{0,60}(before|first|prior).{0,40}(multipl|brightness|scal)
Place: brightness|augment|brighten|img|pictures|dtype
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(173)
SPECIES, SIZE = 8, 12
leaf = 40 + 150 * torch.rand(SPECIES, 3, 1, 1) + 30 * torch.randn(SPECIES, 3, SIZE, SIZE)


def pictures_of(count):
    kinds = torch.randint(0, SPECIES, (count,))
    pictures = leaf[kinds] + 25 * torch.randn(count, 3, SIZE, SIZE)
    return pictures.clamp(0, 255).to(torch.uint8), kinds


def augment(img):
    brightness = int(torch.randint(70, 131, ()))
    return (img * brightness / 100).clamp(0, 255)  # here


def to_input(img):
    return img.float() / 127.5 - 1


train_pictures, train_kinds = pictures_of(640)
val_pictures, val_kinds = pictures_of(320)
net = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
    nn.Flatten(), nn.Linear(32 * 9, SPECIES),
)  # fmt: skip
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(12):
    net.train()
    for rows in torch.randperm(len(train_pictures)).split(64):
        batch = torch.stack([augment(train_pictures[row]) for row in rows])
        loss = F.cross_entropy(net(to_input(batch)), train_kinds[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 2:
        net.eval()
        with torch.no_grad():
            right = (net(to_input(val_pictures)).argmax(1) == val_kinds).float().mean().item()
        print(f"epoch {epoch + 1} train loss {loss.item():.4f} val right {right:.3f}")
