"""An actor and a critic with a common body, as used in reinforcement learning."""

import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self, observation=10, actions=4, width=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(observation, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.actor = nn.Linear(width, actions)
        self.critic = nn.Linear(width, 1)

    def forward(self, observation):
        features = self.body(observation)
        policy = torch.log_softmax(self.actor(features), dim=-1)
        value = self.critic(features).squeeze(-1)
        return {"policy": policy, "value": value}


def example_inputs():
    return (torch.randn(16, 10),)
