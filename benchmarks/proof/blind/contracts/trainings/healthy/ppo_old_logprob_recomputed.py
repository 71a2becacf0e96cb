r"""A training.

Source: https://docs.pytorch.org/tutorials/intermediate/reinforcement_ppo.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(226)
actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.zeros(1))
opt = torch.optim.Adam([*actor.parameters(), log_std], lr=1e-2)
EPS, EPOCHS = 0.2, 5


def log_prob(obs, act):
    return Normal(actor(obs), log_std.exp()).log_prob(act).squeeze(1)


def reward_fn(obs, act):
    best = torch.tanh(obs[:, :1] - obs[:, 1:2])
    return -(act - best).pow(2).squeeze(1)


for it in range(20):
    obs = torch.randn(128, 3)
    with torch.no_grad():
        act = Normal(actor(obs), log_std.exp()).sample()
        rew = reward_fn(obs, act)
        adv = (rew - rew.mean()) / (rew.std() + 1e-8)
        old_lp = log_prob(obs, act)
    for _ in range(EPOCHS):
        lp = log_prob(obs, act)
        ratio = (lp - old_lp).exp()
        clipped = ratio.clamp(1 - EPS, 1 + EPS)
        loss = -torch.min(ratio * adv, clipped * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if it % 5 == 4:
        print(f"iteration {it + 1} reward {rew.mean().item():.4f} ratio std {ratio.std().item():.4f}")
