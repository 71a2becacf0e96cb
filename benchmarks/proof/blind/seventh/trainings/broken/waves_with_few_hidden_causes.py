r"""Waves with few hidden causes, coded by a network with a normal prior.

Source: https://github.com/FluxML/model-zoo/pull/147
Fault: The term of the log deviation has the wrong sign in the divergence, which then has no
    minimum at 1.
Cause: (sign|minus|plus|negat)\w*.{0,100}(log|kl|diverg|sigma|var|deviation|term)
    |(kl|diverg)\w*.{0,120}(sign|negative|below zero|wrong|unbounded|formula|minus|cannot be)
    |(sigma|deviation|variance|noise).{0,80}(zero|shrink|collaps|vanish)
Place: kl|kl_q_p|log_sigma|logs
"""

import torch
import torch.nn as nn

torch.manual_seed(69)
POINTS, HIDDEN, LATENT = 20, 64, 3


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(POINTS, HIDDEN), nn.Tanh())
        self.mu = nn.Linear(HIDDEN, LATENT)
        self.log_sigma = nn.Linear(HIDDEN, LATENT)

    def forward(self, x):
        h = self.body(x)
        return self.mu(h), self.log_sigma(h)


coder = Coder()
drawer = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, POINTS))


def kl_q_p(mu, log_sigma):
    return 0.5 * ((2 * log_sigma).exp() + mu.square() - 1 + 2 * log_sigma).sum()  # here


def log_p_x_z(x, z, noise=0.3):
    return -0.5 * ((x - drawer(z)) / noise).square().sum()


def sample_z(mu, log_sigma):
    return mu + log_sigma.exp() * torch.randn_like(mu)


def negative_elbo(x):
    mu, log_sigma = coder(x)
    likelihood = log_p_x_z(x, sample_z(mu, log_sigma))
    return (kl_q_p(mu, log_sigma) - likelihood) / len(x), log_sigma.exp().mean().item()


t = torch.linspace(0, 6.28, POINTS)
basis = torch.stack([torch.sin(t), torch.cos(t), torch.sin(2 * t)])


def waves(count):
    return torch.randn(count, 3) @ basis + 0.3 * torch.randn(count, POINTS)


def spectrum(x):
    return torch.linalg.eigvalsh(torch.cov(x.t()))[-3:]


real = spectrum(waves(4000))
optimizer = torch.optim.Adam([*coder.parameters(), *drawer.parameters()], lr=4e-3)
for step in range(360):
    loss, sigma = negative_elbo(waves(100))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        with torch.no_grad():
            drawn = drawer(torch.randn(4000, LATENT)) + 0.3 * torch.randn(4000, POINTS)
        ratio = (spectrum(drawn) / real).tolist()
        shown = " ".join(f"{r:.2f}" for r in ratio)
        print(f"{step + 1} loss {loss.item():.2f} sigma {sigma:.4f} variance drawn / real {shown}")
