"""A Gaussian policy with its log-probability written out.

Source: https://github.com/AI4Finance-Foundation/ElegantRL/issues/74
Odd: the entropy bonus seems to have the wrong sign; the minus is inside logprob already.
"""

import math

import torch
from torch import nn


class ActorPPO(nn.Module):
    def __init__(self, state_dim=5, action_dim=2, lambda_entropy=0.01):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state_dim, 32), nn.ReLU(), nn.Linear(32, action_dim))
        self.a_logstd = nn.Parameter(torch.zeros(1, action_dim) - 0.5)
        self.sqrt_2pi_log = math.log(math.sqrt(2 * math.pi))
        self.lambda_entropy = lambda_entropy

    def forward(self, state, action, returns):
        a_avg = self.net(state)
        delta = ((a_avg - action) / self.a_logstd.exp()).pow(2) * 0.5
        logprob = -(self.a_logstd + self.sqrt_2pi_log + delta).sum(1)
        obj_entropy = (logprob.exp() * logprob).mean()
        weight = torch.softmax(returns, dim=0) * len(returns)
        loss = -(weight * logprob).mean() + self.lambda_entropy * obj_entropy
        return {"loss": loss, "entropy": obj_entropy}


def example_inputs():
    return (
        torch.randn(64, 5),
        torch.randn(64, 2),
        torch.randn(64),
    )
