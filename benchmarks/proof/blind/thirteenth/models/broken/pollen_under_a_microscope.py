r"""Tells kinds of pollen apart in small pictures, with gentle pooling by a ratio below two.

Source: https://github.com/pytorch/pytorch/issues/114028
Fault: FractionalMaxPool2d draws its regions at random in every call, in evaluation mode as well,
    so the same picture gets other scores each time.
Cause: fractional.{0,120}(random|chance|stochastic|draw|sampl|eval)
    |(random|stochastic).{0,60}(pool|region|sample)
    |pool.{0,100}(random|chance|stochastic|draws?|each call|every call)
Place: pool|FractionalMaxPool2d
"""
import torch
import torch.nn as nn

SIDE, KINDS = 20, 4


class PollenNet(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.ReLU())
        self.pool1 = nn.FractionalMaxPool2d(2, output_ratio=0.7)  # here
        self.middle = nn.Sequential(
            nn.Conv2d(channels, 2 * channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(2 * channels), nn.ReLU(),
        )
        self.pool2 = nn.FractionalMaxPool2d(2, output_ratio=0.7)  # here
        self.last = nn.Sequential(nn.Conv2d(2 * channels, 2 * channels, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(2 * channels, KINDS)

    def forward(self, picture):
        h = self.pool1(self.stem(picture))
        h = self.pool2(self.middle(h))
        return self.head(self.last(h).mean((2, 3)))


def make_pollen(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, KINDS, (n,), generator=g)
    grid = torch.linspace(-1, 1, SIDE)
    y, x = torch.meshgrid(grid, grid, indexing="ij")
    spikes = torch.tensor([0.0, 4.0, 8.0, 12.0])[kind].view(-1, 1, 1)
    angle = torch.atan2(y, x) + 6.28 * torch.rand(n, 1, 1, generator=g)
    edge = 0.6 + 0.2 * torch.cos(spikes * angle)
    picture = torch.sigmoid(12 * (edge - (x ** 2 + y ** 2).sqrt()))
    return (picture + 0.1 * torch.randn(n, SIDE, SIDE, generator=g)).unsqueeze(1), kind


def build():
    torch.manual_seed(0)
    return PollenNet()


def example_inputs():
    return (make_pollen(24, seed=84)[0],)
