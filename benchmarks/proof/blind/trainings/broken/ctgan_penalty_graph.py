r"""A Wasserstein GAN with gradient penalty for tabular rows.

Source: https://github.com/ooples/AiDotNet/issues/1844
    https://github.com/igul222/improved_wgan_training/issues/18
Fault: The penalty is computed without a graph of its gradients; it has a value but no gradient, so
    the critic grows without limit.
Cause: create_graph|second.?order|double.?back|(penalty|gp)\b.*(no|without).*(grad|graph)
Place: critic|gradient_penalty|discriminator
"""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(critic.parameters(), lr=5e-3, betas=(0.5, 0.9))


def compute_gradient_penalty(real, fake, lambda_gp=10.0):
    eps = torch.rand(len(real), 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    grads = torch.autograd.grad(critic(mixed).sum(), mixed)[0]  # here
    return lambda_gp * ((grads.norm(2, dim=1) - 1) ** 2).mean()


def sample_rows(n):
    centers = torch.tensor([[2.0, 0.0], [-2.0, 1.0], [0.0, -2.0]])
    return centers[torch.randint(0, 3, (n,))] + 0.1 * torch.randn(n, 2)


for step in range(60):
    for _ in range(3):
        real, fake = sample_rows(64), generator(torch.randn(64, 4)).detach()
        gp = compute_gradient_penalty(real, fake)
        d_loss = critic(fake).mean() - critic(real).mean() + gp
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
    g_loss = -critic(generator(torch.randn(64, 4))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if step % 12 == 11:
        print(f"step {step} d_loss {d_loss.item():.2f} gp {gp.item():.2f} g {g_loss.item():.2f}")
