r"""A long corridor with a prize at its end, where surprising moves are replayed more often.

Source: https://github.com/rlcode/per
Odd: Samples are not drawn evenly, their losses have weights below one that make up for it, and
    the strength of this correction grows during training; the target network is a copy for 20
    updates.
"""

import random

import torch
import torch.nn as nn

random.seed(123)
torch.manual_seed(123)
LENGTH, GAMMA, ALPHA, CAPACITY = 8, 0.9, 0.6, 2000


class Memory:
    def __init__(self):
        self.rows, self.priority, self.beta = [], [], 0.4

    def add(self, row):
        self.rows.append(row)
        self.priority.append(max(self.priority, default=1.0))
        if len(self.rows) > CAPACITY:
            self.rows.pop(0)
            self.priority.pop(0)

    def sample(self, count):
        chance = torch.tensor(self.priority) ** ALPHA
        chance = chance / chance.sum()
        index = torch.multinomial(chance, count, replacement=True)
        self.beta = min(1.0, self.beta + 0.002)
        weight = (len(self.rows) * chance[index]) ** (-self.beta)
        return index, [self.rows[i] for i in index.tolist()], weight / weight.max()

    def update(self, index, errors):
        for i, e in zip(index.tolist(), errors.tolist()):
            self.priority[i] = abs(e) + 0.01


def encode(place):
    return torch.nn.functional.one_hot(torch.as_tensor(place), LENGTH).float()


def walk(place, action):
    place = place + 1 if action == 1 else 0
    return min(place, LENGTH - 1), float(place == LENGTH - 1), place == LENGTH - 1


def make():
    return nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2))


q, target, memory = make(), make(), Memory()
target.load_state_dict(q.state_dict())
optimizer = torch.optim.Adam(q.parameters(), lr=3e-3)
true_first = GAMMA ** (LENGTH - 2)
place = 0
for move in range(1200):
    action = random.randrange(2)
    after, reward, done = walk(place, action)
    memory.add((place, action, reward, after, done))
    place = 0 if done else after
for update in range(360):
    index, rows, weight = memory.sample(64)
    s, a, r, s2, d = (torch.tensor(column) for column in zip(*rows))
    with torch.no_grad():
        best = target(encode(s2)).gather(1, q(encode(s2)).argmax(1, keepdim=True)).squeeze(1)
        goal = r + GAMMA * best * ~d
    error = goal - q(encode(s)).gather(1, a[:, None]).squeeze(1)
    loss = (weight * error.square()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    memory.update(index, error.detach())
    if update % 20 == 19:
        target.load_state_dict(q.state_dict())
    if update % 60 == 59:
        with torch.no_grad():
            values = q(encode(torch.arange(LENGTH - 1)))
        forward = (values.argmax(1) == 1).float().mean().item()
        print(
            f"{update + 1} loss {loss.item():.5f} forward {forward:.2f} "
            f"first value {values[0].max().item():.3f}, true {true_first:.3f}"
        )
