r"""The inverse of a curve: several answers belong to one input, and a mixture gives them all.

Source: https://github.com/sagelywizard/pytorch-mdn
Odd: The squared error of the mean answer does not improve and is not the aim; the loss, a
    negative log likelihood of densities, has no floor at zero and sinks below it.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(33)


class Mdn(nn.Module):
    def __init__(self, inputs=1, outputs=1, mixtures=6, width=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.pi = nn.Linear(width, mixtures)
        self.mu = nn.Linear(width, mixtures * outputs)
        self.sigma = nn.Linear(width, mixtures * outputs)

    def forward(self, x):
        h = self.body(x)
        return F.log_softmax(self.pi(h), dim=1), self.mu(h), self.sigma(h).exp()


def mdn_loss(log_pi, mu, sigma, y):
    z = (y - mu) / sigma
    log_density = -0.5 * z.square() - sigma.log() - 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(log_pi + log_density, dim=1).mean()


def sample(log_pi, mu, sigma):
    which = torch.distributions.Categorical(logits=log_pi).sample()[:, None]
    return mu.gather(1, which) + sigma.gather(1, which) * torch.randn(len(mu), 1)


def curve(t):
    return t + 0.3 * torch.sin(2 * math.pi * t)


def pairs(count):
    t = torch.rand(count, 1)
    return curve(t) + 0.02 * torch.randn(count, 1), t


@torch.no_grad()
def off_the_curve(model):
    x, _ = pairs(1000)
    return (curve(sample(*model(x))) - x).abs().mean().item()


model = Mdn()
optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 360)
print(f"before: samples off the curve by {off_the_curve(model):.3f}")
for step in range(360):
    x, y = pairs(256)
    loss = mdn_loss(*model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    scheduler.step()
    if step % 60 == 59:
        print(f"{step + 1} loss {loss.item():+.3f} off the curve {off_the_curve(model):.3f}")
