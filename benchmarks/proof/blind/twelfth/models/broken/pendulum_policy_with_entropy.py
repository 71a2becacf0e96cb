r"""The continuous policy net of a soft actor-critic chapter for the pendulum, with its two critics.

Source: https://github.com/boyu-ai/Hands-on-RL/issues/121
Fault: The tanh correction of the log-probability takes tanh of an action that has been through tanh
    already: log(1 - tanh(action)^2) with action = tanh(sample), so the density is wrong.
Cause: tanh.{0,120}(twice|two times|again|second|double|already|correction|jacobian|log[ _-]?prob)
    |(twice|double|doubly|repeated).{0,40}(tanh|squash)|(log[ _-]?prob\w*|density|correction
    |jacobian
    |change of variable).{0,100}(tanh|squash)
Place: log_prob|action|PolicyNetContinuous|tanh
"""

import torch
import torch.nn.functional as F
from torch.distributions import Normal


class PolicyNetContinuous(torch.nn.Module):
    def __init__(self, state_dim, hidden_dim, action_dim, action_bound):
        super(PolicyNetContinuous, self).__init__()
        self.fc1 = torch.nn.Linear(state_dim, hidden_dim)
        self.fc_mu = torch.nn.Linear(hidden_dim, action_dim)
        self.fc_std = torch.nn.Linear(hidden_dim, action_dim)
        self.action_bound = action_bound

    def forward(self, x):
        x = F.relu(self.fc1(x))
        mu = self.fc_mu(x)
        std = F.softplus(self.fc_std(x))
        dist = Normal(mu, std)
        normal_sample = dist.rsample()
        log_prob = dist.log_prob(normal_sample)
        action = torch.tanh(normal_sample)
        log_prob = log_prob - torch.log(1 - torch.tanh(action).pow(2) + 1e-7)  # here
        action = action * self.action_bound
        return action, log_prob


class QValueNetContinuous(torch.nn.Module):
    def __init__(self, state_dim, hidden_dim, action_dim):
        super(QValueNetContinuous, self).__init__()
        self.fc1 = torch.nn.Linear(state_dim + action_dim, hidden_dim)
        self.fc2 = torch.nn.Linear(hidden_dim, hidden_dim)
        self.fc_out = torch.nn.Linear(hidden_dim, 1)

    def forward(self, x, a):
        cat = torch.cat([x, a], dim=1)
        x = F.relu(self.fc1(cat))
        x = F.relu(self.fc2(x))
        return self.fc_out(x)


class SACContinuous(torch.nn.Module):
    def __init__(self, state_dim, hidden_dim, action_dim, action_bound):
        super().__init__()
        self.actor = PolicyNetContinuous(state_dim, hidden_dim, action_dim, action_bound)
        self.critic_1 = QValueNetContinuous(state_dim, hidden_dim, action_dim)
        self.critic_2 = QValueNetContinuous(state_dim, hidden_dim, action_dim)

    def forward(self, states):
        new_actions, log_prob = self.actor(states)
        entropy = -log_prob
        q1_value = self.critic_1(states, new_actions)
        q2_value = self.critic_2(states, new_actions)
        return new_actions, entropy, torch.min(q1_value, q2_value)


def build():
    torch.manual_seed(0)
    return SACContinuous(state_dim=3, hidden_dim=64, action_dim=1, action_bound=2.0)


def example_inputs():
    torch.manual_seed(1)
    th = torch.rand(32, 1) * 6.28 - 3.14
    return (torch.cat([th.cos(), th.sin(), torch.randn(32, 1)], dim=1),)
