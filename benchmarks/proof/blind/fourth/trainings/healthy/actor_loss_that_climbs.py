r"""Actor and critic where rewards are costs, so the values fall as the critic learns them.

Source: https://github.com/seohongpark/fql/issues/10
Odd: The loss of the actor, the negative value, grows during training although actions get better.
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))
target_critic = copy.deepcopy(critic).requires_grad_(False)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
for step in range(60):
    state = torch.rand(128, 3) * 2 - 1
    action = (actor(state).detach() + 0.4 * torch.randn(128, 1)).clamp(-1, 1)
    reward = -1 - (action - state[:, :1]).square()
    next_state = torch.rand(128, 3) * 2 - 1
    with torch.no_grad():
        target = reward + 0.8 * target_critic(torch.cat([next_state, actor(next_state)], 1))
    critic_loss = (critic(torch.cat([state, action], 1)) - target).square().mean()
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    critic.requires_grad_(False)
    q_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
    actor_optimizer.zero_grad()
    q_loss.backward()
    actor_optimizer.step()
    critic.requires_grad_(True)
    for p, t in zip(critic.parameters(), target_critic.parameters(), strict=True):
        t.data.lerp_(p.data, 0.1)
error = (actor(state) - state[:, :1]).square().mean()
print(f"actor loss {q_loss.item():.2f}, error of actions {error.item():.4f}")
