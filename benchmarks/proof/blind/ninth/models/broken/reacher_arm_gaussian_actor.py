r"""Gaussian policy of an arm with bounded torques.

Source: https://github.com/cpnota/autonomous-learning-library/issues/154
Fault: The mean goes through tanh before it is squashed, and the squashing applies tanh again, so
    the ends of the range of torques are never reached.
Cause: tanh.{0,80}(twice|double|two times|again|second|already|both|another)|(double|twice|two
    |second|both|nested).{0,40}(tanh|squash\w*|times)|(range|bound\w*|limit\w*|torque\w*
    |action\w*).{0,100}(never|cannot|can't|not|un)\s?.{0,10}(reach\w*|attain\w*|cover\w*)
    |0\.76\d*
Place: tanh|squash\w*|mean\w*|means|forward
"""

import torch
from torch import nn
from torch.distributions import Independent, Normal


class GaussianPolicy(nn.Module):
    def __init__(self, model, low, high, features):
        super().__init__()
        self.model = model
        self.head = nn.Linear(features, len(low))
        self.log_stds = nn.Parameter(torch.zeros(len(low)))
        self.register_buffer("center", (high + low) / 2)
        self.register_buffer("scale", (high - low) / 2)

    def means(self, state):
        return torch.tanh(self.head(self.model(state)))  # here

    def squash(self, x):
        return torch.tanh(x) * self.scale + self.center  # here

    def forward(self, state):
        means = self.squash(self.means(state))
        normal = Normal(means, self.log_stds.exp() * self.scale)
        return Independent(normal, 1)


class Reacher(nn.Module):
    def __init__(self, observations=11, hidden=64):
        super().__init__()
        low, high = torch.tensor([-2.0, -1.0]), torch.tensor([2.0, 1.0])
        body = nn.Sequential(
            nn.Linear(observations, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.policy = GaussianPolicy(body, low, high, hidden)
        self.value = nn.Sequential(nn.Linear(observations, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, state, action):
        normal = self.policy(state)
        value = self.value(state).squeeze(1)
        return normal.mean, normal.log_prob(action), value


def build():
    return Reacher()


def example_inputs():
    return torch.randn(16, 11), torch.rand(16, 2) * 2 - 1
