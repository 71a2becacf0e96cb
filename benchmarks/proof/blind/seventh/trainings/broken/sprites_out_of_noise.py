r"""Corners of a square come out of noise step by step, as in a course on diffusion.

Source: https://github.com/Ryota-Kawamura/How-Diffusion-Models-Work/issues/1
Fault: The noise is multiplied by 1 - ab and not by its root, so training has too little noise.
Cause: (sqrt|root).{0,100}(noise|1 ?- ?ab|alpha|missing|variance)
    |(noise|variance|perturb).{0,100}(sqrt|root|too (small|little)|scale|level|\b1\b|unit)
    |(train|forward)\w*.{0,80}(sampl|reverse)\w*.{0,60}(differ|mismatch|not match|disagree)
Place: perturb_input|ab_t|noise|sqrt
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

timesteps, beta1, beta2 = 40, 1e-4, 0.25
n_steps, batch_size, lrate = 400, 512, 5e-3
torch.manual_seed(63)

b_t = (beta2 - beta1) * torch.linspace(0, 1, timesteps + 1) + beta1
a_t = 1 - b_t
ab_t = torch.cumsum(a_t.log(), dim=0).exp()
ab_t[0] = 1


corners = torch.tensor([[1.2, 1.2], [1.2, -1.2], [-1.2, 1.2], [-1.2, -1.2]])


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(5, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2)
        )

    def forward(self, x, t):
        level = ab_t[t, None]
        time = torch.cat([level, (1 - level).sqrt(), t[:, None] / timesteps], dim=1)
        return self.net(torch.cat([x, time], dim=1))


def figure(count):
    return corners[torch.randint(0, 4, (count,))] + 0.05 * torch.randn(count, 2)


def perturb_input(x, t, noise):
    return ab_t.sqrt()[t, None] * x + (1 - ab_t[t, None]) * noise  # here


def denoise_add_noise(x, t, pred_noise, z):
    noise = b_t.sqrt()[t] * z
    mean = (x - pred_noise * ((1 - a_t[t]) / (1 - ab_t[t]).sqrt())) / a_t[t].sqrt()
    return mean + noise


@torch.no_grad()
def sample_ddpm(model, count=600):
    x = torch.randn(count, 2)
    for i in range(timesteps, 0, -1):
        z = torch.randn_like(x) if i > 1 else 0
        eps = model(x, torch.full((count,), i))
        x = denoise_add_noise(x, i, eps, z)
    return x


nn_model = Denoiser()
optim = torch.optim.Adam(nn_model.parameters(), lr=lrate)
for step in range(n_steps):
    optim.param_groups[0]["lr"] = lrate * (1 - step / n_steps)
    x = figure(batch_size)
    noise = torch.randn_like(x)
    t = torch.randint(1, timesteps + 1, (batch_size,))
    pred_noise = nn_model(perturb_input(x, t, noise), t)
    loss = F.mse_loss(pred_noise, noise)
    optim.zero_grad()
    loss.backward()
    optim.step()
    if step % 80 == 79:
        off = torch.cdist(sample_ddpm(nn_model), corners).min(1).values.mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} samples off the corners by {off:.3f}")
