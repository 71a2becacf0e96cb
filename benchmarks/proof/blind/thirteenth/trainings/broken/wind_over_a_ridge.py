r"""Predicts the direction of the wind over a ridge as a von Mises distribution.

Source: https://docs.pytorch.org/docs/stable/distributions.html
Fault: The directions of the table are in degrees, but the von Mises distribution and the mean
    that comes from atan2 are in radians; the likelihood sees directions that have gone round the
    circle many times and the net learns nothing.
Cause: degree|radian|deg2rad|unit of the angle|360
Place: direction|log_prob|VonMises|loss
"""
import torch
from torch import nn
from torch.distributions import VonMises
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(61)


def stations(n):
    east, north = torch.randn(n), torch.randn(n)
    height = torch.rand(n)
    warmth = torch.randn(n)
    u = 1.5 * east + 0.6 * warmth * height + 0.4
    v = north - 0.7 * height + 0.3 * east
    direction = torch.rad2deg(torch.atan2(u, v)) + 12 * torch.randn(n)
    return torch.stack([east, north, height, warmth], dim=1), direction % 360


class WindNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.vector = nn.Linear(48, 2)
        self.sharp = nn.Linear(48, 1)

    def forward(self, x):
        h = self.body(x)
        u, v = self.vector(h).unbind(1)
        kappa = nn.functional.softplus(self.sharp(h)).squeeze(1) + 0.05
        return VonMises(torch.atan2(u, v), kappa)


def gap(a, b):
    return ((a - b + 180) % 360 - 180).abs()


def main():
    loader = DataLoader(TensorDataset(*stations(2000)), batch_size=50, shuffle=True)
    test_x, test_direction = stations(500)
    model = WindNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(15):
        total = 0.0
        for x, direction in loader:
            loss = -model(x).log_prob(direction).mean()  # here
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1}: negative log-likelihood {total / len(loader):.4f}")
    with torch.no_grad():
        found = torch.rad2deg(model(test_x).loc)
    print(f"mean error {gap(found, test_direction).mean().item():.1f} degrees")


main()
