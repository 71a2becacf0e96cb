r"""Deterministic policy gradient on a one step transport task.

Source: https://github.com/kakaoenterprise/JORLDY/issues/120
Fault: Only the target of the critic follows; that of the actor keeps its first weights.
Cause: target_actor\w*|actor\w*.*target|target.*(never|not|stale|unchanged|constant|initial|first)
Place: target_actor
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 1))
target_actor, target_critic = copy.deepcopy(actor), copy.deepcopy(critic)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)
gamma, tau = 0.9, 0.02


def update_target_soft():
    for t, p in zip(target_critic.parameters(), critic.parameters(), strict=True):  # here
        t.data.mul_(1 - tau).add_(p.data, alpha=tau)


for step in range(150):
    state = torch.rand(64, 2) * 2 - 1
    action = (actor(state).detach() + 0.3 * torch.randn(64, 1)).clamp(-1, 1)
    next_state = (state + 0.4 * action * torch.tensor([1.0, 0.0])).clamp(-1, 1)
    reward = -(next_state[:, :1] - next_state[:, 1:]).abs()
    with torch.no_grad():
        next_action = target_actor(next_state)
        target = reward + gamma * target_critic(torch.cat([next_state, next_action], 1))
    critic_loss = nn.functional.mse_loss(critic(torch.cat([state, action], 1)), target)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    actor_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    update_target_soft()
print(f"reward {reward.mean().item():.3f}, critic loss {critic_loss.item():.3f}")
