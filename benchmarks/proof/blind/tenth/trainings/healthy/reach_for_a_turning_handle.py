"""Soft actor and critic that reach for a handle which turns, with a temperature that is learned.

Source: https://github.com/rail-berkeley/rlkit/issues/71
Odd: The loss of the temperature has log_alpha where the paper has alpha, and it is negative or
    positive without meaning; both have their minimum at the same entropy.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

torch.manual_seed(71)
TARGET_ENTROPY = -1.0
policy = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
qf = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
log_alpha = torch.zeros(1, requires_grad=True)
policy_optimizer = torch.optim.Adam(policy.parameters(), lr=2e-3)
qf_optimizer = torch.optim.Adam(qf.parameters(), lr=3e-3)
alpha_optimizer = torch.optim.Adam([log_alpha], lr=1e-2)


def handles(count):
    turn = 6.2832 * torch.rand(count, 1)
    return torch.cat([turn.cos(), turn.sin()], 1)


def act(obs):
    mean, log_std = policy(obs).chunk(2, 1)
    dist = Normal(mean, log_std.clamp(-5, 2).exp())
    z = dist.rsample()
    action = z.tanh()
    log_pi = dist.log_prob(z) - torch.log(1 - action.pow(2) + 1e-6)
    return action, log_pi


def reward_of(obs, action):
    return 1 - 3 * (action - 0.7 * obs[:, :1] * obs[:, 1:]).abs()


replay = []
for step in range(350):
    obs = handles(32)
    with torch.no_grad():
        action, _ = act(obs)
        reward = reward_of(obs, action)
    replay.append((obs, action, reward))
    o, a, r = (torch.cat(part) for part in zip(*replay[-50:], strict=True))
    rows = torch.randint(0, len(o), (128,))
    o, a, r = o[rows], a[rows], r[rows]

    new_action, log_pi = act(o)
    alpha_loss = -(log_alpha * (log_pi + TARGET_ENTROPY).detach()).mean()
    alpha_optimizer.zero_grad()
    alpha_loss.backward()
    alpha_optimizer.step()
    alpha = log_alpha.exp().detach()

    policy_loss = (alpha * log_pi - qf(torch.cat([o, new_action], 1))).mean()
    policy_optimizer.zero_grad()
    policy_loss.backward()
    policy_optimizer.step()

    qf_loss = F.mse_loss(qf(torch.cat([o, a], 1)), r)
    qf_optimizer.zero_grad()
    qf_loss.backward()
    qf_optimizer.step()
    if step % 70 == 69:
        print(
            f"step {step + 1} reward {reward.mean().item():.3f} alpha {alpha.item():.3f} "
            f"alpha loss {alpha_loss.item():.3f} entropy {-log_pi.mean().item():.3f}"
        )
