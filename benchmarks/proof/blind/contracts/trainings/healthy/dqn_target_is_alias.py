r"""A training.

Source: https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html
Healthy: the right twin of the broken case of this name.
"""

import copy
import random
import torch
from torch import nn

random.seed(0)
torch.manual_seed(118)
N_STATES, GAMMA = 8, 0.95


def step_env(s, a):
    s2 = max(0, s - 1) if a == 0 else s + 1
    done = s2 == N_STATES - 1
    return s2, (1.0 if done else -0.02), done


def encode(s):
    return nn.functional.one_hot(torch.as_tensor(s), N_STATES).float()


q_net = nn.Sequential(nn.Linear(N_STATES, 32), nn.ReLU(), nn.Linear(32, 2))
target_net = copy.deepcopy(q_net)
opt = torch.optim.Adam(q_net.parameters(), lr=5e-3)
memory, state = [], 0
for t in range(400):
    action = random.randint(0, 1) if random.random() < 0.5 else q_net(encode(state)).argmax().item()
    nxt, reward, done = step_env(state, action)
    memory.append((state, action, reward, nxt, float(done)))
    state = 0 if done else nxt
    if t >= 200:
        s, a, r, s2, d = map(torch.tensor, zip(*random.sample(memory, 32)))
        q = q_net(encode(s)).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            y = r + GAMMA * (1 - d) * target_net(encode(s2)).max(1).values
        loss = nn.functional.smooth_l1_loss(q, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if t % 20 == 0:
            target_net.load_state_dict(q_net.state_dict())
print("values", [round(q_net(encode(s)).max().item(), 3) for s in range(N_STATES - 1)])
