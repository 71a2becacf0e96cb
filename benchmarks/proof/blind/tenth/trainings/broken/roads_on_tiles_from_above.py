r"""Roads on square tiles of aerial pictures, turned over at random for variety.

Source: https://github.com/fastai/fastai/issues/245
Fault: Picture and mask are each turned over by a random choice of their own, so in half of the
    cases the mask does not lie on its picture.
Cause: (flip|mask|transform|random|augment|turn).{0,120}(separate|independent|own|different
    |not (the)?same|mismatch|misalign|not (match|agree|correspond|aligned)|each|out of (step|sync)
    |respect)|(misalign|mismatch|independent|separate|different random).{0,80}(mask|flip|picture
    |image|label)
Place: RandomFlip|mask|tfm|transform|augment|random_flip|__call__
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(245)
SIZE = 16


class RandomFlip:
    def __call__(self, x):
        if torch.rand(()) < 0.5:
            x = x.flip(-1)
        if torch.rand(()) < 0.5:
            x = x.flip(-2)
        return x


def tiles(count):
    steps = torch.arange(SIZE).float()
    start, slope = 2 + 8 * torch.rand(count, 1), 0.8 * torch.rand(count, 1) - 0.2
    middle = start + slope * steps[None]
    road = ((torch.arange(SIZE)[None, None] - middle[:, :, None]).abs() < 1.5).float()
    colour = torch.stack([0.8 * road, -0.5 * road, 0.3 * road], 1)
    return colour + 0.5 * torch.randn(count, 3, SIZE, SIZE), road.unsqueeze(1)


pictures, masks = tiles(300)
val_pictures, val_masks = tiles(100)
tfm = RandomFlip()
net = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
    nn.Conv2d(16, 1, 1),
)  # fmt: skip
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(10):
    net.train()
    for rows in torch.randperm(len(pictures)).split(30):
        x = torch.stack([tfm(pictures[row]) for row in rows])
        y = torch.stack([tfm(masks[row]) for row in rows])  # here
        loss = F.binary_cross_entropy_with_logits(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 2 == 1:
        net.eval()
        with torch.no_grad():
            found = (net(val_pictures) > 0).float()
        both = (found * val_masks).sum()
        iou = (both / ((found + val_masks) > 0).float().sum()).item()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} iou {iou:.3f}")
