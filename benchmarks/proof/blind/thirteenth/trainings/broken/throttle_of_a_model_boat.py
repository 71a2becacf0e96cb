r"""Learns a throttle between full back and full ahead with an actor that is paid for variety.

Source: https://stackoverflow.com/questions/55008214
Fault: The action is squashed by a tanh but the log-probability is that of the sample before it;
    the change of variables is missing, so the entropy can be raised without end by widening the
    normal, and the actions pile up at both ends.
Cause: tanh.*(correct|jacobian|change of variab|log[- _]?prob|densit|missing|squash)|jacobian
    |change of variab|log[- _]?prob.*(before|unsquash|pre-|tanh|squash|correct)
    |TransformedDistribution
Place: log_prob|act|sample|forward|entropy
"""
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(15)
ALPHA = 0.15


def wanted(state):
    return 0.6 * torch.sin(2 * state[:, :1]) * torch.cos(state[:, 1:2])


def reward(state, action):
    return -((action - wanted(state)) ** 2)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.mean = nn.Linear(64, 1)
        self.log_std = nn.Linear(64, 1)

    def act(self, state):
        h = self.body(state)
        normal = Normal(self.mean(h), self.log_std(h).clamp(-5, 2).exp())
        raw = normal.rsample()
        action = torch.tanh(raw)
        return action, normal.log_prob(raw).sum(1)  # here

    def best(self, state):
        return torch.tanh(self.mean(self.body(state)))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                                 nn.Linear(64, 1))

    def forward(self, state, action):
        return self.net(torch.cat([state, action], 1)).squeeze(1)


actor, critic = Actor(), Critic()
actor_opt = torch.optim.Adam(actor.parameters(), lr=2e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)

for step in range(1000):
    state = torch.rand(128, 2) * 4 - 2
    with torch.no_grad():
        tried, _ = actor.act(state)
        tried = torch.where(torch.rand(128, 1) < 0.3, torch.rand(128, 1) * 2 - 1, tried)
    critic_loss = nn.functional.mse_loss(critic(state, tried), reward(state, tried).squeeze(1))
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    action, log_prob = actor.act(state)
    actor_loss = (ALPHA * log_prob - critic(state, action)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    if step % 200 == 199:
        print(f"step {step + 1}: entropy {-log_prob.mean().item():.2f}, "
              f"reward {reward(state, action).mean().item():.3f}")

with torch.no_grad():
    state = torch.rand(2000, 2) * 4 - 2
    action, _ = actor.act(state)
    ends = (action.abs() > 0.95).float().mean().item()
print(f"reward of the policy {reward(state, action).mean().item():.3f}, at the ends {ends:.2f}")
