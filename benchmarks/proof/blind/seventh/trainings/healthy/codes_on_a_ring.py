r"""Pictures are coded so that the codes fill a ring, compared along random directions.

Source: https://github.com/eifuentes/swae-pytorch
Odd: The codes are sorted along fresh random directions and matched with sorted draws from the
    ring, so that neighbouring samples swap partners at each step; nothing tells a sample where
    its code belongs.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(72)


def ring(count):
    angle = 6.2832 * torch.rand(count)
    return torch.stack([angle.cos(), angle.sin()], 1)


def sliced_wasserstein(codes, draws, projections=40):
    directions = F.normalize(torch.randn(projections, codes.size(1)), dim=1)
    a = (codes @ directions.t()).sort(dim=0).values
    b = (draws @ directions.t()).sort(dim=0).values
    return (a - b).square().mean()


class Autoencoder(nn.Module):
    def __init__(self, pixels=64, width=96):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(pixels, width),
            nn.LeakyReLU(0.1),
            nn.Linear(width, width),
            nn.LeakyReLU(0.1),
            nn.Linear(width, 2),
        )
        self.decoder = nn.Sequential(
            nn.Linear(2, width),
            nn.LeakyReLU(0.1),
            nn.Linear(width, width),
            nn.LeakyReLU(0.1),
            nn.Linear(width, pixels),
        )

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z), z


axis = torch.linspace(-1, 1, 8)
yy, xx = torch.meshgrid(axis, axis, indexing="ij")


def bars(count):
    angle = 6.2832 * torch.rand(count, 1, 1)
    along = angle.cos() * xx + angle.sin() * yy
    return torch.sigmoid(6 * along).flatten(1) + 0.03 * torch.randn(count, 64)


model = Autoencoder()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.9)
test = bars(500)
for step in range(400):
    x = bars(128)
    drawn, z = model(x)
    reconstruction = (drawn - x).abs().mean() + F.mse_loss(drawn, x)
    distance = sliced_wasserstein(z, ring(len(z)))
    loss = reconstruction + 4.0 * distance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        with torch.no_grad():
            drawn, z = model(test)
        radius = z.norm(dim=1)
        print(
            f"{step + 1} loss {loss.item():.4f} error {F.mse_loss(drawn, test).item():.4f} "
            f"radius {radius.mean().item():.3f} +- {radius.std().item():.3f}"
        )
