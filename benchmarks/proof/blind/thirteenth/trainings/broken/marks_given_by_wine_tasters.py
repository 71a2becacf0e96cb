r"""Predicts the marks that tasters give to wines from its analysis and a level of each taster.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
Fault: The level of each taster is a plain tensor with requires_grad and not a Parameter, so it
    is not among the parameters of the module, the optimizer never gets it, and it keeps its
    zeros though strict and mild tasters differ by several marks.
Cause: nn\.parameter|not.*(a )?parameter|(plain|bare|ordinary|raw) tensor|not registered
    |register_parameter|not (in|among|part of).*param|optimi[sz]er (never|does not|has not)
    |never (updated|changed|trained|learn)
Place: level|taster
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(19)
TASTERS, WINES = 60, 200


class Marks(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.quality = nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Linear(width, 1))
        self.level = torch.zeros(TASTERS, requires_grad=True)  # here
        self.mean = nn.Parameter(torch.tensor(80.0))

    def forward(self, who, wine):
        return self.mean + self.level[who] + self.quality(wine).squeeze(1)


def tasting(n):
    who, what = torch.randint(0, TASTERS, (n,)), torch.randint(0, WINES, (n,))
    level, analysis = torch.randn(TASTERS) * 4, torch.randn(WINES, 5)
    quality = 2 * analysis[:, 0] - analysis[:, 1] ** 2 + analysis[:, 2] * analysis[:, 3]
    mark = 85 + level[who] + quality[what] + torch.randn(n)
    return TensorDataset(who, analysis[what], mark)


train, test = random_split(tasting(4000), [3200, 800])
loader = DataLoader(train, batch_size=64, shuffle=True)
model = Marks()
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
for epoch in range(12):
    for who, wine, mark in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(who, wine), mark)
        loss.backward()
        optimizer.step()
    if epoch % 3 == 2:
        with torch.no_grad():
            who, wine, mark = test[:]
            error = nn.functional.mse_loss(model(who, wine), mark).sqrt().item()
        print(f"epoch {epoch + 1}: error {error:.3f} marks")
