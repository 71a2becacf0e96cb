r"""Speaker direction from a microphone array, with its mixing matrix cut down to a low rank.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.svd.html
Fault: torch.linalg.svd returns the right singular vectors already transposed (Vh), but its
    columns are taken as if it were V, so the product is far from the given matrix.
Cause: \bVh?\b.{0,80}(transpos|row|column|conjugat|instead|taken|is)
    |(right )?singular vectors?.{0,100}(transpos|row|column)
    |svd.{0,100}(transpos|Vh|row|column)
    |(row|column)s?.{0,60}(instead of|rather than|in place of).{0,30}(row|column)
Place: right|svd|down|LowRank|low_rank|V\b
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

MICROPHONES, DIRECTIONS, RANK = 24, 6, 5


class LowRank(nn.Module):
    def __init__(self, matrix, rank):
        super().__init__()
        left, values, right = torch.linalg.svd(matrix)
        root = values[:rank].sqrt()
        self.up = nn.Parameter(left[:, :rank] * root)
        self.down = nn.Parameter((right[:, :rank] * root).T.contiguous())  # here

    def forward(self, x):
        return x @ self.down.T @ self.up.T


class DirectionFinder(nn.Module):
    def __init__(self, mixing, rank=RANK):
        super().__init__()
        self.unmix = LowRank(mixing, rank)
        for weight in self.unmix.parameters():
            weight.requires_grad_(False)
        self.net = nn.Sequential(
            nn.LayerNorm(MICROPHONES), nn.Linear(MICROPHONES, 48), nn.ReLU(),
            nn.Linear(48, DIRECTIONS),
        )

    def forward(self, levels, direction):
        return F.cross_entropy(self.net(self.unmix(levels)), direction)


def array_matrix():
    g = torch.Generator().manual_seed(34)
    sources = torch.randn(MICROPHONES, RANK, generator=g)
    return sources @ torch.randn(RANK, MICROPHONES, generator=g) / MICROPHONES


def make_levels(n, seed):
    g = torch.Generator().manual_seed(seed)
    direction = torch.randint(0, DIRECTIONS, (n,), generator=g)
    codes = torch.randn(DIRECTIONS, RANK, generator=torch.Generator().manual_seed(35))
    _, _, right = torch.linalg.svd(array_matrix())
    levels = codes[direction] @ right[:RANK]
    levels = levels + 0.3 * torch.randn(n, RANK, generator=g) @ right[:RANK]
    return levels + 1.0 * torch.randn(n, MICROPHONES - RANK, generator=g) @ right[RANK:], direction


def build():
    torch.manual_seed(0)
    return DirectionFinder(array_matrix())


def example_inputs():
    return make_levels(96, seed=36)
