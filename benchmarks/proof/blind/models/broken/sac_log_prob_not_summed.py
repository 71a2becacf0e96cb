"""A soft actor-critic loss for a walker with four joints.

Source: https://github.com/sunwuzhou03/reinforcement-learning-lab/issues/1
Fault: log_prob keeps one column for each joint, so targets (B, 4) broadcast against values (B,
    1).
Cause: log_prob|sum|broadcast|shape
Place: log_prob
"""

import torch
import torch.nn.functional as F
from torch import nn


class SAC(nn.Module):
    def __init__(self, state_dim=6, action_dim=4, hidden=32, alpha=0.2, gamma=0.99):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma
        self.actor = nn.Sequential(nn.Linear(state_dim, hidden), nn.ReLU())
        self.fc_mu = nn.Linear(hidden, action_dim)
        self.fc_std = nn.Linear(hidden, action_dim)
        self.critic = nn.Sequential(
            nn.Linear(state_dim + action_dim, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )

    def sample(self, state):
        h = self.actor(state)
        dist = torch.distributions.Normal(self.fc_mu(h), F.softplus(self.fc_std(h)) + 1e-4)
        normal_sample = dist.rsample()
        action = torch.tanh(normal_sample)
        log_prob = dist.log_prob(normal_sample) - torch.log(1 - action.pow(2) + 1e-7)  # here
        return action, log_prob

    def forward(self, states, actions, rewards):
        next_actions, log_prob = self.sample(states)
        q_next = self.critic(torch.cat([states, next_actions], dim=1))
        td_target = rewards + self.gamma * (q_next - self.alpha * log_prob)
        q = self.critic(torch.cat([states, actions], dim=1))
        critic_loss = (q - td_target.detach()).pow(2).mean()
        actor_loss = (self.alpha * log_prob - q_next).mean()
        return {"loss": critic_loss + actor_loss, "log_prob": log_prob}


def example_inputs():
    return (
        torch.randn(64, 6),
        torch.randn(64, 4),
        torch.randn(64, 1),
    )
