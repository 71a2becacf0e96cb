r"""An arm learns to reach a place with a deterministic actor; the episode ends when it is there.

Source: https://github.com/seungeunrho/minimalRL/issues/32
Fault: The target of the critic goes on with the value of the next state after the end of an
    episode.
Cause: (done|terminal|end of (the|an) episode|mask|bootstrap)
Place: target|done|done_mask
"""

import collections
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(2)
torch.manual_seed(2)
GAMMA, TAU, BATCH = 0.97, 0.05, 64


class Arm:
    def reset(self):
        self.place, self.t = torch.rand(2) * 2 - 1, 0
        return self.place.clone()

    def step(self, action):
        self.place = (self.place + 0.25 * action.clamp(-1, 1)).clamp(-1.2, 1.2)
        self.t += 1
        there = self.place.norm().item() < 0.25
        return self.place.clone(), 1.0 if there else -0.05, there


class ReplayBuffer:
    def __init__(self):
        self.buffer = collections.deque(maxlen=5000)

    def sample(self, n):
        s, a, r, s2, done_mask = zip(*random.sample(self.buffer, n))
        column = lambda v: torch.tensor(v).unsqueeze(1)
        return torch.stack(s), torch.stack(a), column(r), torch.stack(s2), column(done_mask)


def net(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 48), nn.ReLU(), nn.Linear(48, outputs))


mu, mu_target = net(2, 2), net(2, 2)
q, q_target = net(4, 1), net(4, 1)
mu_target.load_state_dict(mu.state_dict())
q_target.load_state_dict(q.state_dict())
mu_optimizer = torch.optim.Adam(mu.parameters(), lr=1e-3)
q_optimizer = torch.optim.Adam(q.parameters(), lr=3e-3)


def train(memory):
    s, a, r, s_prime, done_mask = memory.sample(BATCH)
    with torch.no_grad():
        a_prime = mu_target(s_prime).tanh()
        target = r + GAMMA * q_target(torch.cat([s_prime, a_prime], 1))  # here
    q_loss = F.smooth_l1_loss(q(torch.cat([s, a], 1)), target)
    q_optimizer.zero_grad()
    q_loss.backward()
    q_optimizer.step()
    mu_loss = -q(torch.cat([s, mu(s).tanh()], 1)).mean()
    mu_optimizer.zero_grad()
    mu_loss.backward()
    mu_optimizer.step()
    for model, slow in ((q, q_target), (mu, mu_target)):
        for p, p_slow in zip(model.parameters(), slow.parameters()):
            p_slow.data.lerp_(p.data, TAU)
    return q_loss.item()


env, memory, s = Arm(), ReplayBuffer(), None
for step in range(1100):
    s = env.reset() if s is None else s
    with torch.no_grad():
        a = (mu(s).tanh() + 0.4 * torch.randn(2)).clamp(-1, 1)
    s_prime, r, done = env.step(a)
    memory.buffer.append((s, a, r, s_prime, 0.0 if done else 1.0))
    s = None if done or env.t >= 15 else s_prime
    if step >= 700:
        q_loss = train(memory)
        if step % 80 == 79:
            with torch.no_grad():
                grid = torch.rand(300, 2) * 2 - 1
                value = q(torch.cat([grid, mu(grid).tanh()], 1)).mean().item()
                place = grid
                arrived = torch.zeros(300, dtype=torch.bool)
                for _ in range(15):
                    place = (place + 0.25 * mu(place).tanh()).clamp(-1.2, 1.2)
                    arrived |= place.norm(dim=1) < 0.25
            share = arrived.float().mean().item()
            print(f"step {step + 1} q loss {q_loss:.4f} mean value {value:.2f} arrive {share:.3f}")
