r"""Evolution strategies: the weights move without any gradient of autograd.

Source: https://github.com/openai/evolution-strategies-starter
    https://github.com/alirezamika/evostra
Odd: There is no backward pass and no optimizer, the whole loop runs under no_grad; the reward of
    the perturbed networks gives the direction.
"""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
theta = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
SIGMA, LEARNING_RATE, POPULATION = 0.1, 0.03, 32


@torch.no_grad()
def get_reward(weights, x, y):
    nn.utils.vector_to_parameters(weights, model.parameters())
    return -(model(x) - y).pow(2).mean()


for generation in range(150):
    x = 2 * torch.rand(64, 2) - 1
    y = torch.sin(2 * x[:, :1]) - x[:, 1:]
    noise = torch.randn(POPULATION // 2, len(theta))
    noise = torch.cat([noise, -noise])
    rewards = torch.stack([get_reward(theta + SIGMA * n, x, y) for n in noise])
    ranks = rewards.argsort().argsort().float() / (POPULATION - 1) - 0.5
    theta += LEARNING_RATE / (POPULATION * SIGMA) * (noise.t() @ ranks)
    if generation % 30 in (0, 29):
        print(f"generation {generation} reward {get_reward(theta, x, y).item():.4f}")
