r"""Proximal policy optimisation on a contextual bandit.

Source: https://github.com/RITCHIEHuang/DeepRL_Algorithms/issues/13
Fault: Ratios are a row and advantages a column, so the loss has each ratio times each advantage.
Cause: broadcast|shapes? .*(differ|mismatch|not)|\(\d+, ?\d+\)|(every|all|each) pairs?|outer
Place: surr[12]|advantages?|\bratio\b
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))
value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
policy_optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
value_optimizer = torch.optim.Adam(value.parameters(), lr=3e-3)
for iteration in range(25):
    state = torch.randn(128, 4)
    with torch.no_grad():
        old = Categorical(logits=policy(state))
        action = old.sample()
        old_log_prob = old.log_prob(action)
        returns = (action == state.argmax(1)).float()[:, None]
        advantages = returns - value(state)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for _ in range(4):
        value_loss = (value(state) - returns).square().mean()
        value_optimizer.zero_grad()
        value_loss.backward()
        value_optimizer.step()
        log_prob = Categorical(logits=policy(state)).log_prob(action)
        ratio = torch.exp(log_prob - old_log_prob)
        surr1 = ratio * advantages  # here
        surr2 = torch.clamp(ratio, 0.8, 1.2) * advantages
        policy_loss = -torch.min(surr1, surr2).mean()
        policy_optimizer.zero_grad()
        policy_loss.backward()
        policy_optimizer.step()
print(f"reward {returns.mean().item():.3f}")
