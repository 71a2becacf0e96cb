r"""A training.

Source: https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html
Fault: The TD target is computed without no_grad or detach, so the gradient also flows through the
    bootstrapped next-state value.
Cause: detach|no_grad|(grad\w*).{0,80}(target|next|bootstrap)|target.{0,80}(grad|backprop|graph)
    |semi-?gradient
"""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(120)
SIZE, GAMMA = 5, 0.9
moves = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


def transition(pos, act):
    new = (pos + moves[act]).clamp(0, SIZE - 1)
    goal = (new == SIZE - 1).all(1)
    return new, goal.float() - 0.01, goal.float()


def obs(pos):
    return torch.cat([F.one_hot(pos[:, 0], SIZE), F.one_hot(pos[:, 1], SIZE)], 1).float()


value_net = nn.Sequential(nn.Linear(2 * SIZE, 48), nn.ReLU(), nn.Linear(48, 4))
optimizer = torch.optim.Adam(value_net.parameters(), lr=5e-3)
for it in range(200):
    pos = torch.randint(0, SIZE, (64, 2))
    act = torch.randint(0, 4, (64,))
    nxt, reward, done = transition(pos, act)
    q = value_net(obs(pos)).gather(1, act.unsqueeze(1)).squeeze(1)
    best_next = value_net(obs(nxt)).max(1).values
    target = reward + GAMMA * (1 - done) * best_next
    loss = F.mse_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 49:
        print(it + 1, f"{loss.item():.5f}")
with torch.no_grad():
    print("start value", value_net(obs(torch.zeros(1, 2, dtype=torch.long))).max().item())
