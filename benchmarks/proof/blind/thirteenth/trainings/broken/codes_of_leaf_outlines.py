r"""Learns codes of leaf outlines that hardly move when the outline moves a little.

Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.jacobian.html
Fault: The Jacobian of the encoder is computed without create_graph, so the penalty built of it
    is a constant for autograd and gives no gradient; the loss contains it but the codes stay as
    sensitive as without it.
Cause: create_graph|jacobian.*(gradient|graph|detach|constant|differentiab|no effect)
    |penalty.*(no gradient|constant|detached|no effect|not differentiab|no graph)
    |(detached|constant).*(penalty|jacobian)
Place: jacobian|penalty|slopes|contraction
"""
import math

import torch
from torch import nn
from torch.autograd.functional import jacobian
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(66)
POINTS, CODE = 32, 6


def leaves(n):
    angle = torch.linspace(0, 2 * math.pi, POINTS + 1)[:-1]
    lobes = torch.randint(3, 7, (n, 1)).float()
    depth = 0.4 * torch.rand(n, 1)
    length = 0.3 * torch.rand(n, 1)
    radius = 1 + depth * torch.cos(lobes * angle) + length * torch.cos(angle)
    return radius + 0.03 * torch.randn(n, POINTS)


class LeafCoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(POINTS, 48), nn.Tanh(), nn.Linear(48, CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, 48), nn.Tanh(), nn.Linear(48, POINTS))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def contraction(encoder, x):
    slopes = jacobian(lambda v: encoder(v).sum(0), x)  # here
    return slopes.pow(2).sum() / len(x)


def main():
    train, test = leaves(1200), leaves(300)
    loader = DataLoader(TensorDataset(train), batch_size=60, shuffle=True)
    model = LeafCoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(20):
        for (x,) in loader:
            rebuilt = nn.functional.mse_loss(model(x), x)
            penalty = contraction(model.encoder, x)
            loss = rebuilt + 2e-3 * penalty
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: rebuilt {rebuilt.item():.5f}, penalty {penalty.item():.3f}")
    with torch.no_grad():
        code = model.encoder(test)
        moved = model.encoder(test + 0.05 * torch.randn_like(test))
    print(f"codes move by {((moved - code).norm(dim=1).mean() / 0.05).item():.3f} per unit")


if __name__ == "__main__":
    main()
