"""Soft actor critic: twin critics with one optimizer, target copies, a learned temperature."""

import copy
import json

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(6)


class SoftQNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 32), nn.Linear(32, 1)

    def forward(self, x, a):
        return self.fc2(F.relu(self.fc1(torch.cat([x, a], 1))))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 32)
        self.fc_mean, self.fc_logstd = nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return self.fc_mean(x), torch.tanh(self.fc_logstd(x))

    def get_action(self, x):
        mean, log_std = self(x)
        normal = torch.distributions.Normal(mean, log_std.exp())
        x_t = normal.rsample()
        action = torch.tanh(x_t)
        log_prob = normal.log_prob(x_t) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob


actor, qf1, qf2 = Actor(), SoftQNetwork(), SoftQNetwork()
qf1_target, qf2_target = copy.deepcopy(qf1), copy.deepcopy(qf2)
q_optimizer = optim.Adam(list(qf1.parameters()) + list(qf2.parameters()), lr=1e-3)
actor_optimizer = optim.Adam(list(actor.parameters()), lr=3e-4)
log_alpha = torch.zeros(1, requires_grad=True)
a_optimizer = optim.Adam([log_alpha], lr=1e-3)
q_losses, actor_losses, alpha_losses = [], [], []
for step in range(100):
    obs, next_obs = torch.randn(64, 3), torch.randn(64, 3)
    with torch.no_grad():
        acts, _ = actor.get_action(obs)
        rewards = -((acts - torch.tanh(obs[:, :1])) ** 2)
        next_acts, next_log_pi = actor.get_action(next_obs)
        alpha = log_alpha.exp().item()
        q1, q2 = qf1_target(next_obs, next_acts), qf2_target(next_obs, next_acts)
        target = rewards + 0.9 * (torch.min(q1, q2) - alpha * next_log_pi)
    qf_loss = F.mse_loss(qf1(obs, acts), target) + F.mse_loss(qf2(obs, acts), target)
    q_optimizer.zero_grad()
    qf_loss.backward()
    q_optimizer.step()
    q_losses.append(qf_loss.item())
    if step % 2 == 0:
        pi, log_pi = actor.get_action(obs)
        actor_loss = (alpha * log_pi - torch.min(qf1(obs, pi), qf2(obs, pi))).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        actor_losses.append(actor_loss.item())
        with torch.no_grad():
            _, log_pi = actor.get_action(obs)
        alpha_loss = (-log_alpha.exp() * (log_pi - 1)).mean()
        a_optimizer.zero_grad()
        alpha_loss.backward()
        a_optimizer.step()
        alpha_losses.append(alpha_loss.item())
    for online, goal in ((qf1, qf1_target), (qf2, qf2_target)):
        for p, t in zip(online.parameters(), goal.parameters(), strict=True):
            t.data.copy_(0.05 * p.data + 0.95 * t.data)
    if step % 25 == 0:
        print(f"qf_loss {q_losses[-1]:.4f} actor_loss {actor_losses[-1]:.4f}")
truth = {name: ["Adam", 100, q_losses[0], q_losses[-1]] for name in ("qf1", "qf2")}
truth["actor"] = ["Adam", 50, actor_losses[0], actor_losses[-1]]
truth["parameters"] = ["Adam", 50, None, alpha_losses[-1]]
print("TRUTH", json.dumps(truth))
