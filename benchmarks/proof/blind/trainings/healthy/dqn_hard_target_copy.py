r"""Deep Q-learning on a chain with a target network that is copied every forty updates.

Source: https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/dqn.py
    https://github.com/pytorch/tutorials/issues/181
Odd: The TD loss jumps up at each copy and does not fall overall; the targets move, while the
    return of the greedy policy reaches the optimum.
"""

import random

import torch
import torch.nn.functional as F
from torch import nn


class QNetwork(nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(cells, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, x):
        return self.network(x)


CELLS, GAMMA = 8, 0.9
random.seed(1)
torch.manual_seed(1)
eye = torch.eye(CELLS)
q_network, target_network = QNetwork(CELLS), QNetwork(CELLS)
target_network.load_state_dict(q_network.state_dict())
optimizer = torch.optim.Adam(q_network.parameters(), lr=5e-3)


def move(s, a):
    s2 = max(0, s + (1 if a else -1))
    return s2, float(s2 == CELLS - 1), s2 == CELLS - 1


def greedy_steps():
    s, steps = 0, 0
    while s != CELLS - 1 and steps < 30:
        s, _, _ = move(s, int(q_network(eye[s]).argmax()))
        steps += 1
    return steps


buffer, s = [], 0
for global_step in range(1000):
    epsilon = max(0.1, 1.0 - global_step / 500)
    a = random.randrange(2) if random.random() < epsilon else int(q_network(eye[s]).argmax())
    s2, r, done = move(s, a)
    buffer.append((s, a, r, s2, float(done)))
    s = 0 if done else s2
    if global_step < 100 or global_step % 4:
        continue
    b_s, b_a, b_r, b_s2, b_d = (torch.tensor(c) for c in zip(*random.sample(buffer, 64)))
    with torch.no_grad():
        target_max = target_network(eye[b_s2]).max(dim=1).values
        td_target = b_r + GAMMA * target_max * (1 - b_d)
    old_val = q_network(eye[b_s]).gather(1, b_a[:, None]).squeeze(1)
    loss = F.mse_loss(td_target, old_val)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if global_step % 100 == 0:
        target_network.load_state_dict(q_network.state_dict())
        print(f"step {global_step} td_loss {loss.item():.5f} steps to goal {greedy_steps()}")
