r"""Actor for a leg prosthesis that pools its last four observations by attention.

Source: https://github.com/catalyst-team/catalyst/pull/285
Fault: The softmax of the attention is over an axis with one element, so all weights are one.
Cause: softmax.{0,80}(dim|axis|one|single|size|wrong|constant|always|1\b)
    |(attention|weights?)\b.{0,60}(always|constant|equal|all (one|1)|same|uniform|one\b|1\.0)
Place: softmax|\bpooling\b|attention
"""

import torch
from torch import nn


class TemporalAttentionPooling(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.pooling = nn.Conv1d(features, 1, kernel_size=1)
        self.softmax = nn.Softmax(dim=1)  # here

    def forward(self, frames):
        x = frames.transpose(1, 2)
        weights = self.softmax(self.pooling(x))
        return (x * weights).sum(dim=2)


class LamaPooling(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.attention = TemporalAttentionPooling(features)

    def forward(self, x):
        return torch.cat([x[:, -1], x.mean(1), x.amax(1), self.attention(x)], dim=1)


class Actor(nn.Module):
    def __init__(self, observation=30, action=6, hidden=32):
        super().__init__()
        self.observation_net = nn.Sequential(
            nn.Linear(observation, hidden), nn.LayerNorm(hidden), nn.ReLU()
        )
        self.pool = LamaPooling(hidden)
        self.main_net = nn.Sequential(nn.Linear(4 * hidden, hidden), nn.ReLU())
        self.policy_net = nn.Sequential(nn.Linear(hidden, action), nn.Tanh())

    def forward(self, observations):
        return self.policy_net(self.main_net(self.pool(self.observation_net(observations))))


def build():
    return Actor()


def example_inputs():
    return torch.randn(10, 4, 30)
