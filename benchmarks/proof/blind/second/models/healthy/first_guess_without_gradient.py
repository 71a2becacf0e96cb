"""A denoiser that is conditioned on its own first guess.

Source: https://github.com/lucidrains/bit-diffusion
Odd: the network is run twice and the first run is inside torch.no_grad(); the guess is only an
    input, and the second run trains all the parameters.
"""

import torch
from torch import nn


class SelfConditionedDenoiser(nn.Module):
    def __init__(self, dim=16, hidden=64):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.inp = nn.Linear(2 * dim, hidden)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.out = nn.Linear(hidden, dim)

    def predict(self, noisy, t, guess):
        h = self.inp(torch.cat([guess, noisy], -1)) + self.time(t[:, None])
        return self.out(self.mid(h))

    def forward(self, bits):
        t = torch.rand(len(bits))
        alpha = torch.cos(t * torch.pi / 2)[:, None]
        noisy = alpha * bits + (1 - alpha**2).sqrt() * torch.randn_like(bits)
        guess = torch.zeros_like(bits)
        with torch.no_grad():
            guess = self.predict(noisy, t, guess)
        pred = self.predict(noisy, t, guess)
        return {"loss": nn.functional.mse_loss(pred, bits), "pred": pred}


def example_inputs():
    return (torch.randint(0, 2, (32, 16)).float() * 2 - 1,)
