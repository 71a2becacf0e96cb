r"""Actor of a one-legged hopper whose pushes are bounded, with the density of each push.

Source: https://github.com/openai/spinningup/blob/master/spinup/algos/pytorch/sac/core.py
Odd: The correction for the squashing is 2 * (log 2 - a - softplus(-2a)), which is the logarithm of
    1 - tanh(a)^2, and the density is taken before the push is squashed.
"""

import math

import torch
from torch import nn
from torch.distributions import Normal
from torch.nn import functional as F

LOG_STD_MAX = 2
LOG_STD_MIN = -20


def mlp(sizes, activation, output_activation=nn.Identity):
    layers = []
    for j in range(len(sizes) - 1):
        act = activation if j < len(sizes) - 2 else output_activation
        layers += [nn.Linear(sizes[j], sizes[j + 1]), act()]
    return nn.Sequential(*layers)


class SquashedActor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden_sizes, act_limit):
        super().__init__()
        self.net = mlp([obs_dim, *hidden_sizes], nn.ReLU, nn.ReLU)
        self.mu_layer = nn.Linear(hidden_sizes[-1], act_dim)
        self.log_std_layer = nn.Linear(hidden_sizes[-1], act_dim)
        self.act_limit = act_limit

    def forward(self, obs):
        net_out = self.net(obs)
        mu = self.mu_layer(net_out)
        log_std = torch.clamp(self.log_std_layer(net_out), LOG_STD_MIN, LOG_STD_MAX)
        pi = Normal(mu, torch.exp(log_std))
        action = pi.rsample() if self.training else mu
        logp = pi.log_prob(action).sum(axis=-1)
        logp -= (2 * (math.log(2) - action - F.softplus(-2 * action))).sum(axis=1)
        return self.act_limit * torch.tanh(action), logp


class Critic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden_sizes):
        super().__init__()
        self.q = mlp([obs_dim + act_dim, *hidden_sizes, 1], nn.ReLU)

    def forward(self, obs, act):
        return torch.squeeze(self.q(torch.cat([obs, act], dim=-1)), -1)


class HopperAgent(nn.Module):
    def __init__(self, obs_dim=11, act_dim=3, hidden_sizes=(64, 64), act_limit=1.0, alpha=0.2):
        super().__init__()
        self.pi = SquashedActor(obs_dim, act_dim, hidden_sizes, act_limit)
        self.q1 = Critic(obs_dim, act_dim, hidden_sizes)
        self.q2 = Critic(obs_dim, act_dim, hidden_sizes)
        self.alpha = alpha

    def forward(self, obs):
        action, logp = self.pi(obs)
        q = torch.min(self.q1(obs, action), self.q2(obs, action))
        return action, self.alpha * logp - q


def build():
    return HopperAgent()


def example_inputs():
    return (torch.randn(32, 11),)
