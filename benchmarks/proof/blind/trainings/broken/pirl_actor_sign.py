r"""Deterministic actor and critic that learn the set-point of a simple physical process.

Source: https://github.com/KanishJebaMathewM/Truxify/pull/11885
Fault: The actor minimises the value that the critic predicts, so its actions get worse.
Cause: actor.*(sign|minus|negat|minimi|maximi)|(sign|minus|negat).*(actor|policy|q_value)
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 1))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=2e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)


def physics_reward(states, actions):
    best = torch.tanh(states[:, :1] - 0.5 * states[:, 1:2])
    return 1.0 - (actions - best).pow(2)


for step in range(250):
    states = torch.randn(128, 4)
    with torch.no_grad():
        actions = (actor(states) + 0.5 * torch.randn(128, 1)).clamp(-1, 1)
    rewards = physics_reward(states, actions)
    critic_loss = F.mse_loss(critic(torch.cat([states, actions], 1)), rewards)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    q_values = critic(torch.cat([states, actor(states)], 1))
    actor_loss = q_values.mean()  # here
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    if step % 50 == 49:
        score = physics_reward(states, actor(states)).mean().item()
        print(f"{step} critic {critic_loss.item():.3f} actor {actor_loss.item():.3f} r {score:.3f}")
