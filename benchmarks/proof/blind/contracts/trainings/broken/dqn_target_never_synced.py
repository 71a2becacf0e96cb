r"""A training.

Source: https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html
Fault: The target network is copied once at the start and never synchronised again, so it stays an
    untrained network.
Cause: target.{0,100}(never|not|sync|stale|initial|untrained|unchanged|target_q|updat)
"""

import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(124)
GAMMA = 0.9


def simulate(n):
    angle = torch.rand(n, 1) * 2 - 1
    vel = torch.rand(n, 1) * 2 - 1
    act = torch.randint(0, 3, (n, 1))
    vel2 = (vel + 0.3 * (act - 1) + 0.1 * angle).clamp(-1, 1)
    angle2 = (angle + 0.3 * vel2).clamp(-1, 1)
    reward = 1 - angle2.abs() - 0.1 * vel2.abs()
    return torch.cat([angle, vel], 1), act, reward, torch.cat([angle2, vel2], 1)


online = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 3))
target_q = copy.deepcopy(online).requires_grad_(False)
opt = torch.optim.Adam(online.parameters(), lr=3e-3)
sync_every = 10
for it in range(200):
    s, a, r, s2 = simulate(64)
    with torch.no_grad():
        y = r + GAMMA * target_q(s2).max(1, keepdim=True).values
    loss = F.mse_loss(online(s).gather(1, a), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 40 == 39:
        print(it + 1, f"loss {loss.item():.4f}")

probe = torch.tensor([[0.0, 0.0], [0.8, 0.5], [-0.8, -0.5]])
with torch.no_grad():
    print("values", online(probe).max(1).values)
