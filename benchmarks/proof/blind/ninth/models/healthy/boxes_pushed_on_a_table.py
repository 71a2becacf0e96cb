r"""Model of boxes pushed on a table that finds the boxes and their relations by itself.

Source: https://github.com/tkipf/c-swm
Odd: The objects come out of a sigmoid, the transition is added to the state, the false pairs are
    a shuffle of the batch, and nothing rebuilds the picture.
"""

import torch
import torch.nn.functional as F
from torch import nn


class ObjectMaps(nn.Module):
    def __init__(self, hidden=16, objects=5):
        super().__init__()
        self.cnn1, self.cnn2 = nn.Conv2d(3, hidden, 10, 10), nn.Conv2d(hidden, objects, 1)
        self.norm = nn.BatchNorm2d(hidden)

    def forward(self, x):
        return torch.sigmoid(self.cnn2(F.relu(self.norm(self.cnn1(x)))))


class ObjectCodes(nn.Module):
    def __init__(self, cells, code, hidden=48):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(cells, hidden), nn.Linear(hidden, hidden)
        self.fc3, self.norm = nn.Linear(hidden, code), nn.LayerNorm(hidden)

    def forward(self, maps):
        h = F.relu(self.fc1(maps.flatten(2)))
        return self.fc3(F.relu(self.norm(self.fc2(h))))


def mlp(inputs, outputs, hidden=48):
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.LayerNorm(hidden),
        nn.ReLU(), nn.Linear(hidden, outputs),
    )  # fmt: skip


class Transition(nn.Module):
    def __init__(self, code, actions, hidden=48):
        super().__init__()
        self.actions = actions
        self.edge, self.node = mlp(2 * code, hidden), mlp(code + actions + hidden, code)

    def forward(self, states, action):
        b, n, c = states.shape
        left = states[:, :, None].expand(b, n, n, c)
        right = states[:, None].expand(b, n, n, c)
        edges = self.edge(torch.cat([left, right], 3))
        others = 1 - torch.eye(n, device=states.device)
        gathered = (edges * others[None, :, :, None]).sum(2)
        moves = F.one_hot(action, self.actions * n).view(b, n, self.actions).to(states.dtype)
        return self.node(torch.cat([states, moves, gathered], 2))


class PushedBoxes(nn.Module):
    def __init__(self, objects=5, code=2, actions=4, side=5, hinge=1.0, sigma=0.5):
        super().__init__()
        self.hinge, self.sigma = hinge, sigma
        self.maps, self.codes = ObjectMaps(objects=objects), ObjectCodes(side * side, code)
        self.transition = Transition(code, actions)

    def energy(self, state, action, after, move=True):
        difference = state + self.transition(state, action) - after if move else state - after
        return (0.5 / self.sigma**2) * difference.square().sum(2).mean(1)

    def forward(self, before, action, after):
        state, following = self.codes(self.maps(before)), self.codes(self.maps(after))
        false = state[torch.randperm(len(state), device=state.device)]
        positive = self.energy(state, action, following).mean()
        negative = self.energy(false, action, following, move=False)
        return positive + F.relu(self.hinge - negative).mean()


def build():
    return PushedBoxes()


def example_inputs():
    return torch.rand(16, 3, 50, 50), torch.randint(0, 20, (16,)), torch.rand(16, 3, 50, 50)
