r"""Steering to a goal: each batch is used many times, until the policy has moved enough.

Source: https://github.com/openai/spinningup/blob/master/spinup/algos/pytorch/ppo/ppo.py
Odd: The loss of the policy is near zero in the first pass over each batch, the passes end early
    when the divergence is too large, and policy and value have optimizers with different numbers
    of steps.
"""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(19)
CARS, HORIZON, GAMMA, LAM = 64, 16, 0.95, 0.9


class Gaussian(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_std = nn.Parameter(-0.5 * torch.ones(2))
        self.mu_net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, obs):
        return Normal(self.mu_net(obs), self.log_std.exp())


def drive(state, action):
    place, goal = state[:, :2], state[:, 2:]
    place = place + 0.3 * action.clamp(-1, 1)
    return torch.cat([place, goal], 1), -(place - goal).norm(dim=1)


def discount(x, factor):
    out, total = [], torch.zeros_like(x[0])
    for row in reversed(x):
        total = row + factor * total
        out.append(total)
    return torch.stack(out[::-1])


pi = Gaussian()
v = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
pi_optimizer = torch.optim.Adam(pi.parameters(), lr=1e-2)
vf_optimizer = torch.optim.Adam(v.parameters(), lr=1e-2)


@torch.no_grad()
def collect():
    state = torch.rand(CARS, 4) * 2 - 1
    data = {"obs": [], "act": [], "rew": [], "logp": []}
    for _ in range(HORIZON):
        dist = pi(state)
        act = dist.sample()
        data["obs"].append(state)
        data["act"].append(act)
        data["logp"].append(dist.log_prob(act).sum(-1))
        state, reward = drive(state, act)
        data["rew"].append(reward)
    data = {key: torch.stack(value) for key, value in data.items()}
    values = torch.cat([v(data["obs"]).squeeze(-1), v(state).squeeze(-1)[None]])
    deltas = data["rew"] + GAMMA * values[1:] - values[:-1]
    adv = discount(deltas, GAMMA * LAM)
    data["ret"] = adv + values[:-1]
    data["adv"] = (adv - adv.mean()) / adv.std()
    return data


for epoch in range(14):
    data = collect()
    for i in range(10):
        logp = pi(data["obs"]).log_prob(data["act"]).sum(-1)
        ratio = torch.exp(logp - data["logp"])
        clipped = ratio.clamp(0.8, 1.2) * data["adv"]
        loss_pi = -torch.min(ratio * data["adv"], clipped).mean()
        if (data["logp"] - logp).mean().item() > 1.5 * 0.015:
            break
        pi_optimizer.zero_grad()
        loss_pi.backward()
        pi_optimizer.step()
    for _ in range(10):
        loss_v = (v(data["obs"]).squeeze(-1) - data["ret"]).square().mean()
        vf_optimizer.zero_grad()
        loss_v.backward()
        vf_optimizer.step()
    print(
        f"epoch {epoch} passes {i + 1} policy {loss_pi.item():+.4f} value {loss_v.item():.3f} "
        f"reward {data['rew'].mean().item():.3f}"
    )
