r"""Networks that foresee the state, reward, value and policy of a board game.

Source: https://github.com/werner-duvaud/muzero-general/issues/89
Fault: The residual block adds its own output to itself instead of the block's input.
Cause: (add\w*|sum\w*|x \+= x|plus).{0,100}(itself|own output|to self|doubl\w*|same (tensor
    |variable|x)|its own)|doubl\w+|(skip|shortcut|identity|residual|input).{0,100}(lost
    |missing|never|not (added|kept|saved|stored)|overwrit\w+|absent|instead|discard\w*)
    |x \+= x|no (skip|shortcut|residual|identity)
Place: \bx\b|residual|ResidualBlock|identity|forward|skip
"""

import torch
import torch.nn.functional as F
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        x = x + x  # here
        return F.relu(x)


class Head(nn.Module):
    def __init__(self, channels, cells, outputs):
        super().__init__()
        self.conv = nn.Conv2d(channels, 4, 1)
        self.fc = nn.Sequential(nn.Linear(4 * cells, 32), nn.ELU(), nn.Linear(32, outputs))

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


class Planner(nn.Module):
    def __init__(self, planes=3, channels=16, blocks=2, side=6, support=10):
        super().__init__()
        self.actions = side * side
        cells = side * side
        self.conv = nn.Conv2d(planes, channels, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        self.represent = nn.Sequential(*[ResidualBlock(channels) for _ in range(blocks)])
        self.conv_action = nn.Conv2d(channels + 1, channels, 3, padding=1, bias=False)
        self.bn_action = nn.BatchNorm2d(channels)
        self.dynamics = nn.Sequential(*[ResidualBlock(channels) for _ in range(blocks)])
        self.reward = Head(channels, cells, 2 * support + 1)
        self.value = Head(channels, cells, 2 * support + 1)
        self.policy = Head(channels, cells, self.actions)

    def scaled(self, state):
        flat = state.flatten(2)
        low, high = flat.min(2, keepdim=True)[0], flat.max(2, keepdim=True)[0]
        return ((flat - low) / (high - low + 1e-5)).view_as(state)

    def forward(self, board, actions):
        state = self.scaled(self.represent(F.relu(self.bn(self.conv(board)))))
        outputs = [torch.cat([self.value(state), self.policy(state)], 1)]
        for action in actions.unbind(1):
            plane = F.one_hot(action, self.actions).to(state.dtype)
            plane = plane.view(-1, 1, *state.shape[2:])
            x = F.relu(self.bn_action(self.conv_action(torch.cat([state, plane], 1))))
            state = self.scaled(self.dynamics(x))
            parts = [self.value(state), self.policy(state), self.reward(state)]
            outputs.append(torch.cat(parts, 1))
        return torch.cat(outputs, 1)


def build():
    return Planner()


def example_inputs():
    return torch.randint(0, 2, (4, 3, 6, 6)).float(), torch.randint(0, 36, (4, 3))
