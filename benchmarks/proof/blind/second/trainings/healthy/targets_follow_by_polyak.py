"""Trains a deterministic actor and a critic with slowly moving targets.

Source: https://github.com/sfujim/TD3/blob/master/DDPG.py
Odd: the two target networks have no gradients and change a little at each step, and the actor's
    loss is negative and grows in size; the targets are averages, and the loss is minus the value.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
GAMMA, TAU = 0.6, 0.02
actor = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=2e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=5e-3)


def reward(state, action):
    return 1 - (action - 0.5 * state[:, :1]).square()


for step in range(250):
    state, next_state = torch.randn(2, 64, 2)
    action = torch.rand(64, 1) * 2 - 1
    with torch.no_grad():
        next_q = critic_target(torch.cat([next_state, actor_target(next_state)], 1))
        target_q = reward(state, action) + GAMMA * next_q
    critic_loss = F.mse_loss(critic(torch.cat([state, action], 1)), target_q)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    actor_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    for net, target in ((actor, actor_target), (critic, critic_target)):
        for p, t in zip(net.parameters(), target.parameters(), strict=True):
            t.data.copy_(TAU * p.data + (1 - TAU) * t.data)
    if step % 50 == 0 or step == 249:
        gained = reward(state, actor(state)).mean().item()
        print(
            f"{step} critic {critic_loss.item():.3f} actor {actor_loss.item():.3f} "
            f"reward {gained:.3f}"
        )
