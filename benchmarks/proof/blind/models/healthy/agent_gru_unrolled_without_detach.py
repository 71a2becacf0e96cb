"""A recurrent agent that is unrolled over an episode step by step.

Source: https://github.com/oxwhirl/pymarl/issues/161
Odd: the hidden state is never detached: full backpropagation through a short episode.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RNNAgent(nn.Module):
    def __init__(self, obs=6, hidden=16, n_actions=3):
        super().__init__()
        self.fc1 = nn.Linear(obs, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.fc2 = nn.Linear(hidden, n_actions)

    def forward(self, episode):
        hidden = self.fc1.weight.new_zeros(episode.size(0), self.rnn.hidden_size)
        qs = []
        for t in range(episode.size(1)):
            hidden = self.rnn(F.relu(self.fc1(episode[:, t])), hidden)
            qs.append(self.fc2(hidden))
        return torch.stack(qs, dim=1)


def example_inputs():
    return (torch.randn(4, 8, 6),)
