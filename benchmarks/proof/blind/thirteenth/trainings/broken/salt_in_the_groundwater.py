r"""Predicts the salt in groundwater, saves the net and uses it again in another program.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
Fault: The means and spreads of the inputs are kept as plain attributes of the module and not as
    buffers, so they are not in the state dict; the net that is loaded uses the defaults, zero
    and one, on raw inputs and its predictions are useless.
Cause: buffer|state[_ ]?dict|plain attribute|(attribute|tensor).*not (saved|stored|loaded)
    |(center|mean|std|spread|scale|offset|statistic)\w*.*(not|lost|missing|default)
Place: mean|std|scale|offset|low|spread|center
"""
import os
import tempfile

import torch
from torch import nn


class SaltNet(nn.Module):
    def __init__(self, inputs=4):
        super().__init__()
        self.center = torch.zeros(inputs)  # here
        self.spread = torch.ones(inputs)  # here
        self.layers = nn.Sequential(
            nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
        )

    def fit_inputs(self, x):
        self.center.copy_(x.mean(0))
        self.spread.copy_(x.std(0))

    def forward(self, x):
        return self.layers((x - self.center) / self.spread).squeeze(1)


def wells(n, g):
    depth = torch.rand(n, generator=g) * 180 + 20
    coast = torch.rand(n, generator=g) * 30
    pumped = torch.rand(n, generator=g) * 900
    clay = torch.rand(n, generator=g)
    salt = 3 * torch.exp(-coast / 8) * (0.4 + depth / 100) + 0.002 * pumped * (1 - clay)
    return torch.stack([depth, coast, pumped, clay], 1), salt + 0.1 * torch.randn(n, generator=g)


def train(path, x, y):
    model = SaltNet()
    model.fit_inputs(x)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(40):
        for part in torch.randperm(len(x)).split(50):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[part]), y[part])
            loss.backward()
            optimizer.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
    torch.save(model.state_dict(), path)


def use(path, x, y):
    model = SaltNet()
    model.load_state_dict(torch.load(path))
    model.eval()
    with torch.no_grad():
        error = (model(x) - y).abs().mean().item()
    print(f"new wells: mean error {error:.3f} g/l, spread of the salt {y.std().item():.3f} g/l")


if __name__ == "__main__":
    torch.manual_seed(20)
    g = torch.Generator().manual_seed(20)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "salt.pt")
        train(path, *wells(1200, g))
        use(path, *wells(300, g))
