r"""Finds flawed cloth: its picture is cut into tiles, which are rated one by one and pooled.

Source: https://github.com/gupta-abhay/pytorch-vit/issues/7
Fault: F.unfold puts the pixels of a tile on the second axis and the tiles on the last; reshape
    without a transpose cuts across them, so a token holds one pixel place of many tiles.
Cause: (reshap|view|unfold).{0,120}(transpos|permut|mix|scrambl|order|axis|axes|layout|wrong)
    |(transpos|permut).{0,80}(missing|unfold|before|reshap|instead|needed)
    |(token|patch|tile)s?.{0,80}(mix|scrambl|jumbl|many tiles|other tiles|several (patch|tile))
Place: tiles|unfold|reshape|tokens|embed
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE, TILE = 24, 4
TILES = (SIDE // TILE) ** 2


class TileBlock(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class ClothNet(nn.Module):
    def __init__(self, dim=32, depth=2):
        super().__init__()
        self.embed = nn.Linear(TILE * TILE, dim)
        self.blocks = nn.Sequential(*[TileBlock(dim, 64) for _ in range(depth)])
        self.rate = nn.Linear(dim, 1)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2))

    def forward(self, picture, flawed):
        tiles = F.unfold(picture, TILE, stride=TILE)
        tokens = self.embed(tiles.reshape(len(picture), TILES, -1))  # here
        tokens = self.blocks(tokens)
        share = self.rate(tokens).softmax(dim=1)
        return F.cross_entropy(self.head((share * tokens).sum(1)), flawed)


def make_cloth(n, seed):
    g = torch.Generator().manual_seed(seed)
    flawed = torch.randint(0, 2, (n,), generator=g)
    picture = 0.5 * torch.randn(n, SIDE, SIDE, generator=g)
    motif = torch.tensor([[1., -1, 1, -1], [-1, 1, -1, 1], [1, -1, 1, -1], [-1, 1, -1, 1]])
    other = torch.tensor([[1., 1, -1, -1], [1, 1, -1, -1], [-1, -1, 1, 1], [-1, -1, 1, 1]])
    for row in range(n):
        for _ in range(2):
            place = torch.randint(0, SIDE // TILE, (2,), generator=g) * TILE
            y, x = place.tolist()
            picture[row, y:y + TILE, x:x + TILE] += 2 * (other if flawed[row] else motif)
    return picture.unsqueeze(1), flawed


def build():
    torch.manual_seed(0)
    return ClothNet()


def example_inputs():
    return make_cloth(64, seed=72)
