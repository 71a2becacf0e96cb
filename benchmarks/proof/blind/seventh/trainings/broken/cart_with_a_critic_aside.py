r"""A cart finds the middle of a track with a policy and a critic of its own.

Source: https://github.com/bentrevett/pytorch-rl/issues/2
Fault: The policy is updated with the bare returns; the values of the critic do not enter its loss.
Cause: (critic|value|baseline)\w*.{0,120}(not used|unused|ignored|no effect|never|not enter)
    |(advantage|baseline).{0,80}(miss|not|without|no\b|subtract|instead)
    |(bare|raw|plain|full) returns?
    |returns?.{0,60}(without|instead of|not minus|not centred|baseline|advantage)
Place: advantage|returns|values|policy_loss|baseline
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(101)
CARTS, STEPS, DISCOUNT = 12, 12, 0.9


class MLP(nn.Module):
    def __init__(self, inputs, outputs, hidden=32):
        super().__init__()
        self.fc_1, self.fc_2 = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.fc_2(torch.tanh(self.fc_1(x)))


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor, self.critic = MLP(2, 3), MLP(2, 1)

    def forward(self, state):
        return self.actor(state), self.critic(state).squeeze(-1)


def move(state, action):
    place, wind = state.unbind(1)
    place = (place + 0.25 * (action.float() - 1)).clamp(-2, 2)
    reward = 4.0 - place.abs() + 2.0 * wind
    return torch.stack([place, torch.randn_like(wind)], 1), reward


def calculate_returns(rewards):
    returns, R = [], torch.zeros(CARTS)
    for r in reversed(rewards):
        R = r + DISCOUNT * R
        returns.insert(0, R)
    return torch.stack(returns)


def update_policy(returns, log_prob_actions, values, optimizer):
    returns = returns.detach()
    advantages = returns  # here
    policy_loss = -(advantages * log_prob_actions).mean()
    value_loss = F.smooth_l1_loss(values, returns)
    optimizer.zero_grad()
    (policy_loss + value_loss).backward()
    optimizer.step()
    return policy_loss.item(), value_loss.item()


policy = ActorCritic()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
smooth = None
for episode in range(1, 301):
    state = torch.stack([4 * torch.rand(CARTS) - 2, torch.randn(CARTS)], 1)
    log_probs, values, rewards, distance = [], [], [], 0.0
    for _ in range(STEPS):
        logits, value = policy(state)
        dist = Categorical(logits=logits)
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        values.append(value)
        state, reward = move(state, action)
        rewards.append(reward)
        distance += state[:, 0].abs().mean().item() / STEPS
    returns = calculate_returns(rewards)
    losses = update_policy(returns, torch.stack(log_probs), torch.stack(values), optimizer)
    smooth = distance if smooth is None else 0.95 * smooth + 0.05 * distance
    if episode % 50 == 0:
        print(f"{episode} policy {losses[0]:+.3f} value {losses[1]:.3f} distance {smooth:.3f}")
