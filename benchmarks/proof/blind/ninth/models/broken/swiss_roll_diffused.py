r"""Reversal of a diffusion of points on a swiss roll, learnt step by step.

Source: https://github.com/acids-ircam/diffusion_models/issues/1
Fault: The noise of a step is multiplied by beta, which is its variance, and not by the square
    root of beta.
Cause: (sqrt|square.?root|root).{0,120}(beta\w*|noise|missing|varianc\w*)|beta\w*.{0,140}(sqrt
    |root|varianc\w*|standard|std|deviation|instead)|(noise|varianc\w*).{0,120}(sqrt
    |square root|too (small|little)|beta\w*|standard deviation|scal\w*)|variance.?preserving
Place: betas?|sqrt|noise|diffuse|scale|forward\w*
"""

import torch
import torch.nn.functional as F
from torch import nn


class ConditionalLinear(nn.Module):
    def __init__(self, inputs, outputs, steps):
        super().__init__()
        self.lin, self.embed = nn.Linear(inputs, outputs), nn.Embedding(steps, outputs)
        self.embed.weight.data.uniform_()

    def forward(self, x, t):
        return self.embed(t) * self.lin(x)


class ReverseStep(nn.Module):
    def __init__(self, steps, hidden=64):
        super().__init__()
        self.lin1 = ConditionalLinear(2, hidden, steps)
        self.lin2 = ConditionalLinear(hidden, hidden, steps)
        self.mean = nn.Linear(hidden, 2)

    def forward(self, x, t):
        x = F.softplus(self.lin1(x, t))
        return self.mean(F.softplus(self.lin2(x, t)))


class SwissRoll(nn.Module):
    def __init__(self, steps=40):
        super().__init__()
        self.steps = steps
        betas = torch.sigmoid(torch.linspace(-6, 6, steps)) * (0.3 - 1e-4) + 1e-4
        alphas = 1 - betas
        alpha_bar = alphas.cumprod(0)
        before = torch.cat([torch.ones(1), alpha_bar[:-1]])
        self.register_buffer("betas", betas)
        self.register_buffer("coef_start", betas * before.sqrt() / (1 - alpha_bar))
        self.register_buffer("coef_now", (1 - before) * alphas.sqrt() / (1 - alpha_bar))
        self.reverse = ReverseStep(steps)

    def diffuse(self, x):
        path = [x]
        for beta in self.betas:
            x = path[-1]
            path.append(torch.sqrt(1 - beta) * x + beta * torch.randn_like(x))  # here
        return torch.stack(path[1:], 1)

    def forward(self, points):
        path = self.diffuse(points)
        t = torch.randint(0, self.steps, (len(points),), device=points.device)
        now = path[torch.arange(len(points)), t]
        goal = self.coef_start[t, None] * points + self.coef_now[t, None] * now
        return F.mse_loss(self.reverse(now, t), goal)


def build():
    return SwissRoll()


def example_inputs():
    angle = 1.5 * torch.pi * (1 + 2 * torch.rand(64))
    return (torch.stack([angle * angle.cos(), angle * angle.sin()], 1) / 10,)
