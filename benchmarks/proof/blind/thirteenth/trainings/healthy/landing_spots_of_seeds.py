r"""Learns where winged seeds land as a mixture of normals that depends on wind and height.

Source: https://docs.pytorch.org/docs/stable/distributions.html
Healthy: The loss is a negative log-density and falls below zero, since densities can be larger
    than one; that is no fault of the likelihood.
"""
import torch
from torch import nn
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(111)


def seeds(n):
    wind = torch.rand(n, 1)
    height = torch.rand(n, 1)
    side = (torch.rand(n, 1) < 0.3 + 0.4 * wind).float() * 2 - 1
    along = 0.6 * wind + 0.03 * torch.randn(n, 1)
    across = 0.4 * side * height + 0.03 * torch.randn(n, 1)
    return torch.cat([wind, height], 1), torch.cat([along, across], 1)


class Landing(nn.Module):
    def __init__(self, parts=4):
        super().__init__()
        self.parts = parts
        self.body = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.heads = nn.Linear(48, parts * 5)

    def forward(self, x):
        weight, mean, spread = self.heads(self.body(x)).split(
            [self.parts, 2 * self.parts, 2 * self.parts], dim=1)
        mean = mean.view(-1, self.parts, 2)
        spread = nn.functional.softplus(spread.view(-1, self.parts, 2)) + 1e-2
        return MixtureSameFamily(Categorical(logits=weight),
                                 Independent(Normal(mean, spread), 1))


loader = DataLoader(TensorDataset(*seeds(1500)), batch_size=50, shuffle=True)
test_x, test_y = seeds(500)
model = Landing()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    total = 0.0
    for x, y in loader:
        loss = -model(x).log_prob(y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.3f}")
with torch.no_grad():
    print(f"test: {-model(test_x).log_prob(test_y).mean().item():.3f}")
