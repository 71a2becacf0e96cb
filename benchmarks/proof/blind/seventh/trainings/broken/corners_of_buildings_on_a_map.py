r"""Kinds of buildings from the corners of their outlines in the coordinates of the country.

Source: https://reinvantveer.github.io/2017/09/04/coordinate-normalization.html
Fault: The coordinates are national ones of some hundred thousand metres and are not brought to
    scale.
Cause: (input|coordinate|feature|data|value)s?\w*.{0,80}(scal|normali|standardi|large|range)
    |(not|un|without|no) ?.{0,20}(normali[sz]|scaled|standardi[sz])|saturat
    |(activation|logit)s?.{0,60}(huge|large|saturat)
Place: coordinate|corners|outline|\bx\b|batch|input
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Outlines(Dataset):
    """Eight corners each, in metres from the corner of the country."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.kind = torch.randint(0, 3, (count,), generator=g)
        angle = torch.arange(8) * 0.7854
        circle = torch.stack([angle.cos(), angle.sin()], 1)
        square = circle / circle.abs().max(dim=1, keepdim=True).values
        star = circle * (1 - 0.5 * (torch.arange(8) % 2))[:, None]
        forms = torch.stack([circle, square, star])[self.kind]
        size = 6 + 4 * torch.rand(count, 1, 1, generator=g)
        turn = 0.5 * torch.rand(count, generator=g)
        c, s = turn.cos(), turn.sin()
        spin = torch.stack([torch.stack([c, -s], 1), torch.stack([s, c], 1)], 1)
        place = torch.tensor([155000.0, 463000.0]) + 40000 * torch.randn(count, 1, 2, generator=g)
        noise = 0.4 * torch.randn(count, 8, 2, generator=g)
        self.corners = (size * forms + noise) @ spin + place

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, index):
        return self.corners[index], self.kind[index]


class OutlineNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(16, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 3),
        )

    def forward(self, corners):
        return self.net(corners.flatten(1))  # here


def main():
    torch.manual_seed(99)
    loader = DataLoader(Outlines(1500, 1), batch_size=50, shuffle=True)
    test = Outlines(500, 2)
    net = OutlineNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(8):
        losses = []
        for corners, kind in loader:
            loss = F.cross_entropy(net(corners), kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            right = (net(test.corners).argmax(1) == test.kind).float().mean().item()
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.3f} test {right:.3f}")


main()
