r"""Takes noise off small photos: overlapping patches are cleaned by an MLP and put together again.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Fold.html
Fault: nn.Fold adds up the values of overlapping patches; the sum is not divided by the number of
    patches at a pixel, so the inside is a multiple of the border and cannot be right everywhere.
Cause: (overlap).{0,120}(sum|add|divid|averag|normali|count|not)
    |(fold).{0,120}(sum|add|divid|averag|normali|count)
    |(sum|added).{0,80}(overlap|patches)
    |(not|never|without|missing).{0,40}(divid|averag|normali[sz]).{0,60}(patch|overlap|count)
Place: fold|Fold|join|patches|whole
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE, PATCH, STRIDE = 24, 6, 3


class PatchCleaner(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        size = PATCH * PATCH
        self.split = nn.Unfold(PATCH, stride=STRIDE)
        self.clean = nn.Sequential(
            nn.Linear(size, hidden), nn.GELU(),
            nn.Linear(hidden, hidden), nn.GELU(),
            nn.Linear(hidden, size),
        )
        self.join = nn.Fold((SIDE, SIDE), PATCH, stride=STRIDE)

    def restore(self, noisy):
        patches = self.split(noisy).transpose(1, 2)
        patches = patches + self.clean(patches)
        return self.join(patches.transpose(1, 2))  # here

    def forward(self, noisy, clean):
        return F.mse_loss(self.restore(noisy), clean)


def make_photos(n, seed):
    g = torch.Generator().manual_seed(seed)
    grid = torch.linspace(-1, 1, SIDE)
    y, x = torch.meshgrid(grid, grid, indexing="ij")
    tilt = torch.rand(n, 2, 1, 1, generator=g) * 2 - 1
    spot = torch.rand(n, 2, 1, 1, generator=g) - 0.5
    clean = 0.5 + 0.2 * (tilt[:, 0] * x + tilt[:, 1] * y)
    clean = clean + 0.3 * ((x - spot[:, 0]) ** 2 + (y - spot[:, 1]) ** 2 < 0.2)
    clean = clean.unsqueeze(1)
    return clean + 0.15 * torch.randn(n, 1, SIDE, SIDE, generator=g), clean


def build():
    torch.manual_seed(0)
    return PatchCleaner()


def example_inputs():
    return make_photos(24, seed=52)
