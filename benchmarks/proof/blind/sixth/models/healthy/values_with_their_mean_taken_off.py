r"""Values of actions as the sum of a value of the state and an advantage.

Source: https://github.com/devsisters/DQN-tensorflow
Odd: The mean of the advantages is subtracted, so a constant in them, like their common bias, has
    no influence on the output.
"""

import torch
from torch import nn


class DuelingNetwork(nn.Module):
    def __init__(self, frames=4, actions=6, size=20):
        super().__init__()
        self.l1 = nn.Conv2d(frames, 16, 4, stride=2)
        self.l2 = nn.Conv2d(16, 16, 3, stride=2)
        flat = 16 * 4 * 4
        self.value_hid, self.adv_hid = nn.Linear(flat, 32), nn.Linear(flat, 32)
        self.value, self.advantage = nn.Linear(32, 1), nn.Linear(32, actions)

    def forward(self, screen):
        x = torch.relu(self.l2(torch.relu(self.l1(screen / 255.0)))).flatten(1)
        value = self.value(torch.relu(self.value_hid(x)))
        advantage = self.advantage(torch.relu(self.adv_hid(x)))
        return value + advantage - advantage.mean(dim=1, keepdim=True)


def build():
    return DuelingNetwork()


def example_inputs():
    return torch.randint(0, 256, (16, 4, 20, 20)).float()
