r"""Learns the values of states from a replay of whole episodes.

Source: https://github.com/Itomigna2/Muesli-lunarlander/issues/1
Fault: The replay keeps references to the same lists, which are cleared and filled again; all its
    entries are the latest episode, so the network forgets the others.
Cause: (same|shared) (list|object|episode|reference)|reference|alias|copy|clear\(|latest episode
"""

import random

import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
        self.state_traj, self.return_traj = [], []
        self.state_replay, self.return_replay = [], []
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)

    def self_play(self, level):
        self.state_traj.clear()  # here
        self.return_traj.clear()  # here
        for t in range(10):
            state = torch.zeros(12)
            state[level] = 1.0
            state[11] = t / 10
            self.state_traj.append(state)
            self.return_traj.append(2.0 * level - 10.0 * t / 10)
        self.state_replay.append(self.state_traj)
        self.return_replay.append(self.return_traj)

    def update_weights(self):
        i = random.randrange(len(self.state_replay))
        states = torch.stack(self.state_replay[i])
        returns = torch.tensor(self.return_replay[i]).unsqueeze(1)
        loss = (self.value(states) - returns).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


random.seed(0)
torch.manual_seed(0)
agent = Agent()
for episode in range(60):
    agent.self_play(level=episode * 10 // 60)
    losses = [agent.update_weights() for _ in range(5)]
    if episode % 12 == 11:
        error = 0.0
        for level in range(episode * 10 // 60 + 1):
            state = torch.zeros(12)
            state[level], state[11] = 1.0, 0.5
            error += abs(agent.value(state).item() - (2.0 * level - 5.0))
        mean = error / (episode * 10 // 60 + 1)
        print(f"episode {episode} loss {losses[-1]:.4f} mean error of all levels {mean:.3f}")
