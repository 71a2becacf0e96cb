r"""Recurrent value network that returns its loss on padded rollouts.

Source: https://github.com/Stable-Baselines-Team/stable-baselines3-contrib/pull/78
Fault: The masked mean divides by all steps with the padding, so padding scales the loss down.
Cause: mean.*(pad|mask|all (steps|positions|elements))
    |pad\w*.*(mean|loss|divi|scale|denominator|count)
Place: mean|mask|loss|forward
"""

import torch
from torch import nn


class RecurrentValue(nn.Module):
    def __init__(self, obs=5, hidden=16):
        super().__init__()
        self.lstm = nn.LSTM(obs, hidden, batch_first=True)
        self.value = nn.Linear(hidden, 1)

    def forward(self, observations, returns, mask):
        states, _ = self.lstm(observations)
        values = self.value(states).squeeze(-1)
        return torch.mean((returns - values) ** 2 * mask)  # here


def build():
    return RecurrentValue()


def example_inputs():
    mask = (torch.arange(12) < torch.tensor([[12], [4], [2], [3]])).float()
    observations = torch.randn(4, 12, 5) * mask[..., None]
    return observations, torch.randn(4, 12) * mask, mask
