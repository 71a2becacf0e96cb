r"""An actor and a critic that recommend a continuous action from logged interactions.

Source: https://github.com/backgom2357/Recommender_system_via_deep_RL/issues/14
Fault: The actor's loss uses the logged actions instead of the actor's own, so the actor gets no
    gradient and never changes.
Cause: (logged|replay|buffer|batch|stored).*action|actor.*(no|never|not|zero).*(grad|chang|updat)
Place: actor
"""

import torch
import torch.nn.functional as F
from torch import nn


class Actor(nn.Module):
    def __init__(self, state_dim=6):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(state_dim, 48), nn.ReLU(), nn.Linear(48, 1), nn.Tanh())

    def forward(self, state):
        return self.fc(state)


class Critic(nn.Module):
    def __init__(self, state_dim=6):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(state_dim + 1, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, state, action):
        return self.fc(torch.cat([state, action], dim=1))


torch.manual_seed(0)
actor, critic = Actor(), Critic()
actor_optim = torch.optim.Adam(actor.parameters(), lr=2e-3)
critic_optim = torch.optim.Adam(critic.parameters(), lr=5e-3)
log_states = torch.randn(2000, 6)
log_actions = 2 * torch.rand(2000, 1) - 1
best = torch.tanh(log_states[:, :1] + log_states[:, 1:2])
log_rewards = 1 - (log_actions - best).pow(2)
for update in range(250):
    idx = torch.randint(0, 2000, (64,))
    batch_states, batch_actions = log_states[idx], log_actions[idx]
    q_loss = F.mse_loss(critic(batch_states, batch_actions), log_rewards[idx])
    critic_optim.zero_grad()
    q_loss.backward()
    critic_optim.step()

    actor_loss = -critic(batch_states, batch_actions).mean()  # here
    actor_optim.zero_grad()
    actor_loss.backward()
    actor_optim.step()
    if update % 50 == 49:
        gap = (actor(log_states) - best).abs().mean().item()
        print(f"update {update} q_loss {q_loss:.4f} actor {actor_loss.item():.3f} gap {gap:.3f}")
