"""The network of discrete BCQ with a Q head and an imitation head.

Source: https://github.com/sfujim/BCQ/issues/6
Fault: a ReLU on the logits of the imitation head cuts negative logits, whose gradient is zero.
Cause: relu|negative|activation
Place: i3|imitation|logits
"""

import torch
import torch.nn.functional as F
from torch import nn


class FCQ(nn.Module):
    def __init__(self, state_dim=4, num_actions=5):
        super().__init__()
        self.q1, self.q2 = nn.Linear(state_dim, 32), nn.Linear(32, 32)
        self.q3 = nn.Linear(32, num_actions)
        self.i1, self.i2 = nn.Linear(state_dim, 32), nn.Linear(32, 32)
        self.i3 = nn.Linear(32, num_actions)

    def forward(self, state):
        q = F.relu(self.q2(F.relu(self.q1(state))))
        i = F.relu(self.i2(F.relu(self.i1(state))))
        i = F.relu(self.i3(i))  # here
        return self.q3(q), F.log_softmax(i, dim=1), i


def example_inputs():
    return (torch.randn(16, 4),)
