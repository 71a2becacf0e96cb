r"""Learns profiles of sea shells with a variational autoencoder built on distributions.

Source: https://forum.pyro.ai/t/sample-vs-rsample/2344
Fault: The code is drawn by sample, through which no gradient flows; the encoder gets a gradient
    from the divergence alone, so it falls to the prior, the code carries nothing and every
    profile is rebuilt as the average one.
Cause: rsample|sample\b.*(gradient|detach|no_grad|differentiab|reparam)|reparam
    |(no|without) gradient.*(encoder|sample|sampling)|encoder.*(no gradient|cut off|not (get|reach))
Place: sample|code|encode|posterior|forward
"""
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(72)
POINTS, CODE = 40, 3


def shells(n):
    t = torch.linspace(0, 1, POINTS)
    turns = 2 + 4 * torch.rand(n, 1)
    taper = 1 + 2 * torch.rand(n, 1)
    bulge = torch.randn(n, 1)
    profile = torch.exp(-taper * t) * (1 + 0.5 * torch.sin(6.28 * turns * t)) + 0.3 * bulge * t
    return profile + 0.03 * torch.randn(n, POINTS)


class ShellVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(POINTS, 64), nn.ReLU(), nn.Linear(64, 2 * CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, 64), nn.ReLU(), nn.Linear(64, POINTS))

    def encode(self, x):
        mean, log_std = self.encoder(x).chunk(2, dim=1)
        return Normal(mean, log_std.clamp(-6, 3).exp())

    def forward(self, x):
        posterior = self.encode(x)
        code = posterior.sample()  # here
        return self.decoder(code), posterior


prior = Normal(torch.zeros(CODE), torch.ones(CODE))
train, test = shells(1500), shells(300)
loader = DataLoader(TensorDataset(train), batch_size=50, shuffle=True)
model = ShellVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(15):
    fit_sum, kl_sum = 0.0, 0.0
    for (x,) in loader:
        rebuilt, posterior = model(x)
        fit = ((rebuilt - x) ** 2).sum(1).mean() / (2 * 0.1 ** 2)
        kl = kl_divergence(posterior, prior).sum(1).mean()
        loss = fit + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        fit_sum += fit.item()
        kl_sum += kl.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: fit {fit_sum / len(loader):.2f}, kl {kl_sum / len(loader):.3f}")

with torch.no_grad():
    rebuilt = model.decoder(model.encode(test).mean)
    error = ((rebuilt - test) ** 2).mean().item()
    spread = ((test - train.mean(0)) ** 2).mean().item()
print(f"rebuilding error {error:.4f}, error of the average profile {spread:.4f}")
