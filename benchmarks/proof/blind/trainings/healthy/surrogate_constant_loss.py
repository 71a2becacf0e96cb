r"""A score-function estimator written with a magic box, whose value is always one.

Source: https://github.com/alexis-jacq/LOLA_DiCE/blob/master/ppo_DiCE.py
Odd: The printed objective is a constant in each step for autograd's forward pass (exp of zero); its
    gradient is that of the expected reward, which rises.
"""

import torch
from torch import nn
from torch.distributions import Categorical


def magic_box(x):
    return torch.exp(x - x.detach())


torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for update in range(200):
    state = torch.randint(0, 4, (128,))
    dist = Categorical(logits=policy(nn.functional.one_hot(state, 4).float()))
    action = dist.sample()
    reward = (action == (state + 1) % 4).float()
    advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
    objective = (magic_box(dist.log_prob(action)) * advantage).mean()
    loss = -objective
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 40 == 39 or update == 0:
        print(f"update {update} loss {loss.item():+.6f} reward {reward.mean().item():.3f}")
