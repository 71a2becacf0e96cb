r"""Deep Q-learning in a corridor of nine cells, with a replay of one-step transitions.

Source: https://github.com/navneet-nmk/pytorch-rl/issues/2
Fault: The target bootstraps past the end of an episode, so the values grow far above the only
    reward of one.
Cause: done|terminal|bootstrap|end of (the |an )?episode
"""

import random

import torch
import torch.nn.functional as F
from torch import nn

random.seed(0)
torch.manual_seed(0)
N, GAMMA = 9, 0.95


def reset():
    return random.randrange(N - 1)


def encode(pos):
    return torch.stack([pos / N, 1 - pos / N], dim=1)


def env_step(pos, action):
    pos = max(0, pos + (1 if action else -1))
    done = pos == N - 1
    return pos, float(done), done


q_net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
target_net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
target_net.load_state_dict(q_net.state_dict())
optimizer = torch.optim.Adam(q_net.parameters(), lr=5e-3)
memory = []
pos = reset()
for step in range(900):
    action = random.randrange(2)
    nxt, reward, done = env_step(pos, action)
    memory.append((pos, action, reward, nxt, done))
    pos = reset() if done else nxt
    if step < 64 or step % 3:
        continue
    s, a, r, s2, d = (torch.tensor(col) for col in zip(*random.sample(memory, 64), strict=True))
    q = q_net(encode(s)).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        q_next = target_net(encode(s2)).max(1).values
    target = r + GAMMA * q_next  # here
    loss = F.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 0:
        target_net.load_state_dict(q_net.state_dict())
    if step % 150 == 0:
        print(f"step {step} loss {loss.item():.4f} mean Q {q.mean().item():.2f}")
