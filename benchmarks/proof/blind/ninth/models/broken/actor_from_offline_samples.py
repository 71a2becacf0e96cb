r"""Actor and critic learnt from recorded motions with bounded mean actions.

Source: https://github.com/hwang-ua/inac_pytorch/issues/1
Fault: The log-probability is corrected for a squashed action, but the squashing is on the mean
    and the sampled action is not squashed.
Cause: (correct\w*|jacobian|change.of.variable\w*|squash\w*).{0,160}(not squash\w*
    |un-?squash\w*|\bmean|\bmu\b|no tanh|never|should not|n't|raw|without)|(log.?prob\w*
    |logp\w*).{0,120}(un-?squash\w*|squash\w*|tanh|jacobian|correct\w*)|(\bmean
    |\bmu\b).{0,80}(tanh|squash\w*).{0,120}(sample|action|correct\w*|log)
Place: log\w*|tanh|\bmu\b|mean|correct\w*|actions?|forward
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def mlp(inputs, outputs, hidden=64):
    layers = [nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(hidden, outputs))


class Actor(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.mean = mlp(observations, actions)
        self.logstd = nn.Parameter(torch.full((actions,), -0.5))

    def distribution(self, observation):
        mu = torch.tanh(self.mean(observation))
        std = self.logstd.clamp(-6, 0).exp()
        return torch.distributions.Normal(mu, std)

    def forward(self, observation):
        normal = self.distribution(observation)
        actions = normal.rsample()
        logp = normal.log_prob(actions).sum(1)
        logp = logp - (2 * (math.log(2) - actions - F.softplus(-2 * actions))).sum(1)  # here
        return actions, logp


class InSample(nn.Module):
    def __init__(self, observations=11, actions=3, tau=0.5):
        super().__init__()
        self.tau = tau
        self.actor = Actor(observations, actions)
        self.value = mlp(observations, 1)
        self.q1, self.q2 = mlp(observations + actions, 1), mlp(observations + actions, 1)

    def forward(self, observation):
        actions, logp = self.actor(observation)
        pair = torch.cat([observation, actions], 1)
        q = torch.min(self.q1(pair), self.q2(pair)).squeeze(1)
        value = self.value(observation).squeeze(1)
        value_loss = 0.5 * (q.detach() - self.tau * logp.detach() - value).square().mean()
        actor_loss = (self.tau * logp - q).mean()
        return value_loss + actor_loss


def build():
    return InSample()


def example_inputs():
    return (torch.randn(16, 11),)
