"""A critic with a gradient penalty: autograd.grad with create_graph inside the loss."""

import json

import torch
from torch import autograd, nn, optim

LAMBDA = 10


def calc_gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1).expand_as(real)
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = critic(interpolates)
    gradients = autograd.grad(
        outputs=scores,
        inputs=interpolates,
        grad_outputs=torch.ones_like(scores),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


def main():
    torch.manual_seed(4)
    generator = nn.Sequential(nn.Linear(2, 32), nn.ReLU(True), nn.Linear(32, 2))
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    opt_g = optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
    opt_d = optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
    d_losses, g_losses = [], []
    for iteration in range(50):
        for _ in range(3):
            real = torch.randn(64, 2) * 0.2 + torch.tensor([1.0, -1.0])
            fake = generator(torch.randn(64, 2)).detach()
            d_loss = critic(fake).mean() - critic(real).mean()
            d_loss = d_loss + calc_gradient_penalty(critic, real, fake)
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
            d_losses.append(d_loss.item())
        opt_g.zero_grad()
        g_loss = -critic(generator(torch.randn(64, 2))).mean()
        g_loss.backward()
        opt_g.step()
        g_losses.append(g_loss.item())
        if iteration % 10 == 0:
            print(iteration, d_loss.item(), g_loss.item())
    truth = {"critic": ["Adam", 150, d_losses[0], d_losses[-1]]}
    truth["generator"] = ["Adam", 50, g_losses[0], g_losses[-1]]
    print("TRUTH", json.dumps(truth))


main()
