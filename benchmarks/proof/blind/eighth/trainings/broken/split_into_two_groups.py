r"""Predictor on one half of the data, tested on the other, for rings around each other.

Source: https://github.com/YujiaBao/ls/issues/1
Fault: There is no activation between the linear layers, so the MLP is only one linear map.
Cause: non-?linear|activation|relu|stacked linear|(single|one|only|just).{0,15}linear|linear (map
    |model|function|classifier)|collapse.{0,30}linear|equivalent.{0,30}linear|composition of linear
    |consecutive linear
Place: self\.seq|MLP|layers|hidden
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

cfg = {"hidden_dim": 64, "hidden_layers": 2, "dropout": 0.1, "lr": 5e-3, "epochs": 12}
generator = torch.Generator().manual_seed(19)
torch.manual_seed(19)


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, num_classes, depth, dropout):
        super().__init__()
        layers, width = [], input_dim
        for _ in range(depth):
            layers += [nn.Linear(width, hidden_dim), nn.Dropout(dropout)]  # here
            width = hidden_dim
        self.seq = nn.Sequential(*layers)
        self.out = nn.Linear(width, num_classes)

    def forward(self, x):
        return self.out(self.seq(x))


def rings(count=1500):
    ring = torch.randint(0, 3, (count,), generator=generator)
    angle = 2 * math.pi * torch.rand(count, generator=generator)
    radius = 0.6 + 0.9 * ring + 0.12 * torch.randn(count, generator=generator)
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
    return TensorDataset(points / 1.6, ring)


def train_predictor(train_data):
    predictor = MLP(2, cfg["hidden_dim"], 3, cfg["hidden_layers"], cfg["dropout"])
    optim = torch.optim.Adam(predictor.parameters(), lr=cfg["lr"])
    loader = DataLoader(train_data, batch_size=64, shuffle=True, generator=generator)
    for ep in range(cfg["epochs"]):
        stats = []
        for x, y in loader:
            loss = F.cross_entropy(predictor(x), y)
            optim.zero_grad()
            loss.backward()
            optim.step()
            stats.append(loss.item())
        print(f"epoch {ep:2d} loss {sum(stats) / len(stats):.4f}")
    return predictor


def test_predictor(predictor, data):
    predictor.eval()
    x, y = next(iter(DataLoader(data, batch_size=len(data))))
    with torch.no_grad():
        return (predictor(x).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    data = rings()
    train_count = int(0.75 * len(data))
    train_data, test_data = random_split(
        data, [train_count, len(data) - train_count], generator=generator
    )
    predictor = train_predictor(train_data)
    train_acc = test_predictor(predictor, train_data)
    print(f"train accuracy {train_acc:.3f} test {test_predictor(predictor, test_data):.3f}")
