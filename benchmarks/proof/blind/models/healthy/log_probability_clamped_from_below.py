"""The loss of a categorical DQN.

Source: https://github.com/floringogianu/categorical-dqn/issues/3
Odd: probabilities are clamped at 1e-3 before the log, which cuts few gradients and avoids -inf.
"""

import torch
from torch import nn


class CategoricalDQN(nn.Module):
    def __init__(self, obs=4, actions=2, atoms=11):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, actions * atoms))
        self.shape = (actions, atoms)

    def forward(self, states, actions, target):
        probs = self.net(states).view(-1, *self.shape).softmax(-1)
        qa = probs[torch.arange(len(states)), actions].clamp(min=1e-3)
        kl = (target * (target.log() - qa.log())).sum(1).mean()
        return {"loss": kl, "probs": probs}


def example_inputs():
    return (
        torch.randn(32, 4),
        torch.randint(0, 2, (32,)),
        torch.rand(32, 11).softmax(1),
    )
