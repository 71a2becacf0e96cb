"""A policy network for REINFORCE on a small control task.

Source: https://github.com/Bowen1911/ML_practice/issues/2
Fault: the logits pass a ReLU before softmax; with all of them negative the policy stays uniform.
Cause: relu|activation|negative
Place: fc2
"""

import torch
import torch.nn.functional as F
from torch import nn


class PolicyNet(nn.Module):
    def __init__(self, state_dim=4, hidden_dim=16, action_dim=2):
        super().__init__()
        self.fc1 = nn.Linear(state_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, action_dim)
        nn.init.constant_(self.fc2.bias, -1.0)

    def forward(self, states, actions, returns):
        x = F.relu(self.fc1(states))
        x = F.relu(self.fc2(x))  # here
        probs = F.softmax(x, dim=1)
        log_prob = torch.log(probs.gather(1, actions[:, None]).squeeze(1))
        return {"loss": -(log_prob * returns).mean(), "probs": probs}


def example_inputs():
    return (
        torch.randn(32, 4).abs(),
        torch.randint(0, 2, (32,)),
        torch.randn(32),
    )
