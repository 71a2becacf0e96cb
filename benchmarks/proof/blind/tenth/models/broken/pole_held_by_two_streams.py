r"""Worth of pushing a cart left or right, from a stream of value and a stream of advantage.

Source: https://github.com/datawhalechina/easy-rl/issues/95
Fault: The mean of the advantages is taken over the whole batch and all actions at once, where it
    belongs to the actions of each state alone.
Cause: mean\w*.{0,120}(batch|whole|all|global|scalar|dim|axis|across|states|samples|per.?(state|sample|row))
    |(dim|axis|keepdim).{0,80}mean|(batch|samples|states).{0,100}(mix\w*|coupl\w*|depend\w*|share\w*|affect\w*|influenc\w*|leak\w*|mean)
    |advantage.{0,80}(batch|dim|axis|scalar)
Place: advantage|\bmean\b|DuelingNet|policy_net
"""

import torch
from torch import nn


class DuelingNet(nn.Module):
    def __init__(self, state_dim=4, action_dim=2, hidden_size=128):
        super().__init__()
        self.hidden_layer = nn.Sequential(nn.Linear(state_dim, hidden_size), nn.ReLU())
        self.advantage_layer = nn.Sequential(
            nn.Linear(hidden_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_dim)
        )
        self.value_layer = nn.Sequential(
            nn.Linear(hidden_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, 1)
        )

    def forward(self, state):
        x = self.hidden_layer(state)
        advantage = self.advantage_layer(x)
        value = self.value_layer(x)
        return value + advantage - advantage.mean()  # here


class CartAgent(nn.Module):
    def __init__(self, state_dim=4, action_dim=2):
        super().__init__()
        self.policy_net = DuelingNet(state_dim, action_dim)
        self.target_net = DuelingNet(state_dim, action_dim)
        self.target_net.load_state_dict(self.policy_net.state_dict())
        for p in self.target_net.parameters():
            p.requires_grad = False
        self.gamma = 0.95

    def forward(self, state, action, reward, next_state, done):
        q = self.policy_net(state).gather(1, action[:, None]).squeeze(1)
        with torch.no_grad():
            following = self.target_net(next_state).max(1)[0]
        expected = reward + self.gamma * following * (1 - done)
        return (q - expected).square()


def build():
    return CartAgent()


def example_inputs():
    n = 24
    return (
        torch.randn(n, 4),
        torch.randint(0, 2, (n,)),
        torch.ones(n),
        torch.randn(n, 4),
        (torch.rand(n) < 0.1).float(),
    )
