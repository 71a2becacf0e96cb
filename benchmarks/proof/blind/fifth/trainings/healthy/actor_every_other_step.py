r"""Two critics and a delayed actor for a continuous control task.

Source: https://github.com/sfujim/TD3
Odd: The actor and all targets move at every other step only, and the lower critic is the target.
"""

import copy

import torch
from torch import nn
from torch.nn import functional as F


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 1))
        self.q2 = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, state, action):
        sa = torch.cat([state, action], 1)
        return self.q1(sa), self.q2(sa)


torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = Critic()
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
discount, tau, policy_freq = 0.5, 0.1, 2
for total_it in range(1, 101):
    state = torch.rand(128, 2) * 2 - 1
    action = torch.rand(128, 1) * 2 - 1
    reward = -(action - state.mean(1, keepdim=True)).square()
    next_state = torch.rand(128, 2) * 2 - 1
    with torch.no_grad():
        noise = (torch.randn_like(action) * 0.2).clamp(-0.5, 0.5)
        next_action = (actor_target(next_state) + noise).clamp(-1, 1)
        target_Q = torch.min(*critic_target(next_state, next_action))
        target_Q = reward + discount * target_Q
    current_Q1, current_Q2 = critic(state, action)
    critic_loss = F.mse_loss(current_Q1, target_Q) + F.mse_loss(current_Q2, target_Q)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    if total_it % policy_freq == 0:
        actor_loss = -critic(state, actor(state))[0].mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        for net, target in ((critic, critic_target), (actor, actor_target)):
            for param, target_param in zip(net.parameters(), target.parameters(), strict=True):
                target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)
error = (actor(state) - state.mean(1, keepdim=True)).square().mean().item()
print(f"critic loss {critic_loss.item():.4f} error of the actions {error:.4f}")
