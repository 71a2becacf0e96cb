r"""Policy from a fixed set of decisions, some of which were bad ones.

Source: https://github.com/rail-berkeley/rlkit
Odd: The loss of the policy is weighted by an exponential of a detached advantage, up to a bound of
    twenty, so it stays large and need not fall; no data is collected.
"""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(15)
beta, count = 0.5, 2000
states = torch.rand(count, 2) * 2 - 1
best = torch.stack([states[:, 0] * states[:, 1], states.sum(1) / 2], 1)
actions = (best + 0.8 * torch.randn(count, 2)).clamp(-2, 2)
rewards = -(actions - best).square().sum(1) + 0.1 * torch.randn(count)

policy = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 2))
log_std = nn.Parameter(torch.zeros(2))
qf = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
vf = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))
policy_optimizer = torch.optim.Adam([*policy.parameters(), log_std], lr=3e-3)
critic_optimizer = torch.optim.Adam([*qf.parameters(), *vf.parameters()], lr=3e-3)
for step in range(120):
    pick = torch.randint(0, count, (256,))
    s, a, r = states[pick], actions[pick], rewards[pick]
    q, v = qf(torch.cat([s, a], 1)).squeeze(1), vf(s).squeeze(1)
    critic_loss = (q - r).square().mean() + (v - r).square().mean()
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    weights = ((q - v).detach() / beta).exp().clamp(max=20.0)
    log_prob = Normal(policy(s), log_std.exp()).log_prob(a).sum(1)
    policy_loss = -(weights * log_prob).mean()
    policy_optimizer.zero_grad()
    policy_loss.backward()
    policy_optimizer.step()
    if step % 30 == 29:
        print(f"step {step} policy {policy_loss.item():.3f} critic {critic_loss.item():.3f}")
with torch.no_grad():
    learnt = -(policy(states) - best).square().sum(1).mean().item()
print(f"mean reward: data {rewards.mean().item():.3f}, policy {learnt:.3f}")
