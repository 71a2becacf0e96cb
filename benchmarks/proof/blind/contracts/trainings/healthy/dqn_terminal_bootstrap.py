r"""A training.

Source: https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html
Healthy: the right twin of the broken case of this name.
"""

import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(122)
LENGTH, GAMMA = 6, 0.98


def rollouts(n):
    s = torch.randint(0, LENGTH, (n,))
    a = torch.randint(0, 2, (n,))
    s2 = (s + 2 * a - 1).clamp(min=0)
    done = s2 >= LENGTH
    r = torch.where(done, 1.0, 0.0)
    return s, a, r, s2.clamp(max=LENGTH - 1), done.float()


def phi(s):
    return F.one_hot(s, LENGTH).float()


online = nn.Sequential(nn.Linear(LENGTH, 32), nn.Tanh(), nn.Linear(32, 2))
target = copy.deepcopy(online)
opt = torch.optim.Adam(online.parameters(), lr=1e-2)
for it in range(200):
    s, a, r, s2, done = rollouts(64)
    with torch.no_grad():
        nxt = target(phi(s2)).max(1).values
        y = r + GAMMA * (1 - done) * nxt
    q = online(phi(s)).gather(1, a.view(-1, 1)).view(-1)
    loss = F.smooth_l1_loss(q, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        target.load_state_dict(online.state_dict())
    if it % 50 == 49:
        print(it + 1, round(loss.item(), 4))
with torch.no_grad():
    print("Q", online(phi(torch.arange(LENGTH))).max(1).values)
