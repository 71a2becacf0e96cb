r"""Names an object from a loose set of points on its surface.

Source: https://docs.pytorch.org/docs/stable/generated/torch.amax.html
Healthy: the order of the points has no influence and after the maximum most points get no
    gradient; for a set of points both are wanted.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

POINTS, KINDS = 48, 4


class PointNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.point = nn.Sequential(
            nn.Linear(3, hidden), nn.LayerNorm(hidden), nn.GELU(),
            nn.Linear(hidden, hidden), nn.GELU(),
        )
        self.head = nn.Sequential(
            nn.Linear(hidden, hidden), nn.GELU(),
            nn.Linear(hidden, KINDS),
        )

    def forward(self, points, kind):
        whole = self.point(points).amax(dim=1)
        return F.cross_entropy(self.head(whole), kind)


def make_objects(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, KINDS, (n,), generator=g)
    ball = F.normalize(torch.randn(n, POINTS, 3, generator=g), dim=-1)
    cube = ball / ball.abs().amax(-1, keepdim=True)
    disc = ball * torch.tensor([1.0, 1.0, 0.2])
    rod = ball * torch.tensor([0.3, 0.3, 1.2])
    every = torch.stack([ball, cube, disc, rod], dim=1)
    points = every[torch.arange(n), kind]
    size = 0.8 + 0.4 * torch.rand(n, 1, 1, generator=g)
    return size * points + 0.03 * torch.randn(n, POINTS, 3, generator=g), kind


def build():
    torch.manual_seed(0)
    return PointNet()


def example_inputs():
    return make_objects(64, seed=6)
