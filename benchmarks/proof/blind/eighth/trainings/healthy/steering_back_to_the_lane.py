"""Steering learned from a driver who corrects what the learner does.

Source: https://github.com/HumanCompatibleAI/imitation
Odd: The data set grows in each round and holds places that only the learner reaches, so the loss
    may rise in a new round; the actions that were taken are not the ones that are learned.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(281)
STEPS, CARS = 30, 16


def road_centre(distance, phase):
    return torch.sin(0.35 * distance + phase)


class Lane:
    def reset(self):
        self.phase = 6.3 * torch.rand(CARS)
        self.offset = 0.2 * torch.randn(CARS)
        self.speed = torch.zeros(CARS)
        self.distance = torch.zeros(CARS)
        return self.observe()

    def observe(self):
        ahead = [road_centre(self.distance + d, self.phase) for d in (0.0, 1.0, 2.0)]
        return torch.stack([self.offset, self.speed, *ahead], 1)

    def step(self, action):
        self.speed = 0.7 * self.speed + 0.5 * action + 0.05 * torch.randn(CARS)
        self.offset = self.offset + self.speed
        self.distance = self.distance + 1
        return self.observe(), (self.offset - road_centre(self.distance, self.phase)).abs()


def driver(obs):
    wanted = obs[:, 3] - obs[:, 0] - 0.7 * obs[:, 1]
    return torch.tanh(2.0 * wanted)


def drive(policy, beta=0.0):
    env, observations, gaps = Lane(), [], []
    obs = env.reset()
    for _ in range(STEPS):
        observations.append(obs)
        with torch.no_grad():
            action = torch.where(torch.rand(CARS) < beta, driver(obs), policy(obs).squeeze(1))
        obs, gap = env.step(action)
        gaps.append(gap)
    return torch.cat(observations), torch.stack(gaps).mean().item()


policy = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
data = torch.empty(0, 5)
_, at_first = drive(policy)
for round_num in range(6):
    seen, _ = drive(policy, beta=max(0.0, 1 - round_num / 3))
    data = torch.cat([data, seen])
    for _ in range(40):
        batch = data[torch.randint(0, len(data), (64,))]
        loss = F.mse_loss(policy(batch).squeeze(1), driver(batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(
        f"round {round_num}: {len(data)} places, loss {loss.item():.5f}, "
        f"gap to the centre {drive(policy)[1]:.4f}"
    )
_, best = drive(lambda obs: driver(obs)[:, None])
print(f"gap {at_first:.4f} before, {drive(policy)[1]:.4f} after, of the driver {best:.4f}")
