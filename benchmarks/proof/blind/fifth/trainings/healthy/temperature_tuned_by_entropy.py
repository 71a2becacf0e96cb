r"""Soft actor and critic with an automatic temperature on a task of one step.

Source: https://github.com/pranz24/pytorch-soft-actor-critic
Odd: The loss of the temperature changes its sign, and the temperature has its own optimizer.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 64), nn.ReLU())
        self.mean, self.log_std = nn.Linear(64, 1), nn.Linear(64, 1)

    def sample(self, state):
        h = self.body(state)
        normal = torch.distributions.Normal(self.mean(h), self.log_std(h).clamp(-5, 2).exp())
        x = normal.rsample()
        log_prob = normal.log_prob(x) - 2 * (math.log(2) - x - F.softplus(-2 * x))
        return torch.tanh(x), log_prob.sum(1, keepdim=True), torch.tanh(normal.mean)


torch.manual_seed(0)
policy = GaussianPolicy()
critic = nn.Sequential(nn.Linear(4, 96), nn.ReLU(), nn.Linear(96, 1))
log_alpha = torch.zeros(1, requires_grad=True)
target_entropy = -1.0
policy_optim = torch.optim.Adam(policy.parameters(), lr=5e-3)
critic_optim = torch.optim.Adam(critic.parameters(), lr=1e-2)
alpha_optim = torch.optim.Adam([log_alpha], lr=3e-2)
for update in range(100):
    state = torch.rand(128, 3) * 2 - 1
    action = torch.rand(128, 1) * 2 - 1
    reward = -4 * (action - state[:, :1] * state[:, 1:2]).square()
    qf_loss = F.mse_loss(critic(torch.cat([state, action], 1)), reward)
    critic_optim.zero_grad()
    qf_loss.backward()
    critic_optim.step()
    pi, log_pi, mean = policy.sample(state)
    alpha = log_alpha.exp().detach()
    policy_loss = (alpha * log_pi - critic(torch.cat([state, pi], 1))).mean()
    policy_optim.zero_grad()
    policy_loss.backward()
    policy_optim.step()
    alpha_loss = -(log_alpha * (log_pi + target_entropy).detach()).mean()
    alpha_optim.zero_grad()
    alpha_loss.backward()
    alpha_optim.step()
error = (mean - state[:, :1] * state[:, 1:2]).square().mean().item()
print(f"critic {qf_loss.item():.4f} policy {policy_loss.item():.4f} alpha {alpha.item():.3f}")
print(f"error of the mean actions {error:.4f}")
