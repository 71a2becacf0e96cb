r"""Predicts how many eels a trap holds from the night, with counts as a Poisson variable.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.poisson_nll_loss.html
Healthy: The net has no activation at its end and its output is read as the logarithm of the
    rate, which is the default of the loss; the loss may be negative as the term of the
    factorial is left out.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(113)


def nights(n):
    moon = torch.rand(n)
    rain = torch.relu(torch.randn(n))
    level = torch.randn(n)
    warm = torch.randn(n)
    rate = torch.exp(1.8 + 0.5 * rain - 1.2 * moon + 0.3 * level * warm)
    return torch.stack([moon * 2 - 1, rain, level, warm], 1), torch.poisson(rate), rate


class EelNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


x, count, rate = nights(2500)
loader = DataLoader(TensorDataset(x[:2000], count[:2000]), batch_size=50, shuffle=True)
model = EelNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    total = 0.0
    for a, b in loader:
        loss = nn.functional.poisson_nll_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
with torch.no_grad():
    found = model(x[2000:]).exp()
error = (found - rate[2000:]).abs().mean().item()
plain = (rate[2000:] - count[:2000].mean()).abs().mean().item()
print(f"mean error of the rate {error:.2f}, of the plain average {plain:.2f}")
