r"""Designs of small beams drawn from noise by a conditional diffusion.

Source: https://github.com/IDEALLab/EngiOpt/pull/67
Fault: The linear schedule keeps its betas for a thousand steps but has far fewer, so at the last
    step much of the picture is still there, while the sampling starts from pure noise.
Cause: (signal|alpha|picture|image|design|data).{0,100}(remain|left|still|not (destroyed|zero
    |noise)|far from)|(step|timestep).{0,60}(too few|few|not enough|short|thousand|1000)|too few
    |schedule.{0,120}(not reach|short|few|mismatch|noise)|(pure|standard
    |gaussian).{0,20}noise.{0,80}(mismatch|never|not|differ)
Place: TIMESTEPS|timesteps|beta|betas|beta_end|schedule|linear_beta_schedule|num_timesteps|T
"""

import torch
from torch import nn

torch.manual_seed(321)
TIMESTEPS, CELLS, KINDS, OFFSET = 60, 8, 3, 3.0
beam = torch.tensor([[1.0, -1.0], [0.2, 0.9], [-1.2, -0.3]]).repeat_interleave(CELLS // 2, 1)


def designs(count):
    kind = torch.randint(0, KINDS, (count,))
    return OFFSET + beam[kind] + 0.1 * torch.randn(count, CELLS), kind


class DiffusionSampler:
    def __init__(self, timesteps, beta_start=1e-4, beta_end=0.02):
        self.timesteps = timesteps
        self.beta = torch.linspace(beta_start, beta_end, timesteps)  # here
        self.alpha = 1 - self.beta
        self.alpha_bar = self.alpha.cumprod(0)

    def forward_sample(self, x, t):
        noise = torch.randn_like(x)
        bar = self.alpha_bar[t, None]
        return bar.sqrt() * x + (1 - bar).sqrt() * noise, noise

    @torch.no_grad()
    def sample(self, model, kind):
        x = torch.randn(len(kind), CELLS)
        for t in reversed(range(self.timesteps)):
            predicted = model(x, torch.full((len(kind),), t), kind)
            x = x - self.beta[t] / (1 - self.alpha_bar[t]).sqrt() * predicted
            x = x / self.alpha[t].sqrt()
            if t:
                x = x + self.beta[t].sqrt() * torch.randn_like(x)
        return x


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.time, self.kind = nn.Embedding(TIMESTEPS, width), nn.Embedding(KINDS, width)
        self.first, self.last = nn.Linear(CELLS, width), nn.Linear(width, CELLS)
        self.middle = nn.Linear(width, width)

    def forward(self, x, t, kind):
        x = nn.functional.silu(self.first(x) + self.time(t) + self.kind(kind))
        return self.last(nn.functional.silu(self.middle(x)))


model, sampler = Denoiser(), DiffusionSampler(TIMESTEPS)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(400):
    x, kind = designs(128)
    t = torch.randint(0, TIMESTEPS, (128,))
    noisy, noise = sampler.forward_sample(x, t)
    loss = nn.functional.mse_loss(model(noisy, t, kind), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        kind = torch.arange(KINDS).repeat(100)
        drawn = sampler.sample(model, kind)
        gap = (drawn - beam[kind] - OFFSET).abs().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} drawn beams off by {gap:.3f} (data 0.080)")
