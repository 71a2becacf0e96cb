r"""Soft actor and critic that learn how hard to throw at a basket whose distance is told.

Source: https://github.com/sweetice/Deep-reinforcement-learning-with-pytorch/issues/36
Fault: The logarithm of the standard deviation goes through a ReLU, so the deviation cannot be
    below 1 and the throws never become exact.
Cause: (log_?std|log of the (standard|std)|standard deviation|\bstd\b|sigma|deviation|log.?sigma
    |spread|noise).{0,120}(relu|non.?negative|positive|below 1|at least 1|>= ?1|less than (1|one)
    |lower bound|never (small|fall|shrink)|clamp|cannot|too (large|big|wide|noisy))
    |relu.{0,80}(log_?std|std|deviation|sigma|log)
Place: log_std_head|log_std|relu|forward|Actor
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

torch.manual_seed(36)
ALPHA = 0.02


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(1, 64)
        self.fc2 = nn.Linear(64, 64)
        self.mu_head = nn.Linear(64, 1)
        self.log_std_head = nn.Linear(64, 1)

    def forward(self, x):
        x = F.relu(self.fc2(F.relu(self.fc1(x))))
        mu = self.mu_head(x)
        log_std = F.relu(self.log_std_head(x))  # here
        return mu, log_std.clamp(-20, 2)

    def evaluate(self, state):
        mu, log_std = self(state)
        dist = Normal(mu, log_std.exp())
        z = dist.rsample()
        action = torch.tanh(z)
        log_prob = dist.log_prob(z) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob


def critic():
    hidden = [nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()]
    return nn.Sequential(*hidden, nn.Linear(64, 1))


actor, q1, q2 = Actor(), critic(), critic()
opt_actor = torch.optim.Adam(actor.parameters(), lr=2e-3)
opt_q = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=3e-3)


def reward_of(distance, action):
    return 1 - 4 * (action - 0.8 * torch.sin(2 * distance)).abs()


memory = []
for step in range(400):
    state = 2 * torch.rand(32, 1) - 1
    with torch.no_grad():
        action, _ = actor.evaluate(state)
    reward = reward_of(state, action)
    memory.append(torch.cat([state, action, reward], 1))
    batch = torch.cat(memory[-40:])
    batch = batch[torch.randint(0, len(batch), (128,))]
    s, a, r = batch[:, :1], batch[:, 1:2], batch[:, 2:]
    q_loss = F.mse_loss(q1(torch.cat([s, a], 1)), r) + F.mse_loss(q2(torch.cat([s, a], 1)), r)
    opt_q.zero_grad()
    q_loss.backward()
    opt_q.step()
    new_action, log_prob = actor.evaluate(s)
    sa = torch.cat([s, new_action], 1)
    pi_loss = (ALPHA * log_prob - torch.min(q1(sa), q2(sa))).mean()
    opt_actor.zero_grad()
    pi_loss.backward()
    opt_actor.step()
    if step % 80 == 79:
        print(
            f"step {step + 1} q loss {q_loss.item():.4f} pi loss {pi_loss.item():.4f} "
            f"mean reward {reward.mean().item():.3f} of at most 1"
        )
