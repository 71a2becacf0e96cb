r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adam.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(220)
ARMS, CTX = 4, 6
effect = torch.randn(CTX, ARMS)


def reward_of(ctx, arm):
    mean = (ctx @ effect).gather(1, arm[:, None]).squeeze(1)
    return mean + 0.1 * torch.randn(len(arm))


policy = nn.Sequential(nn.Linear(CTX, 32), nn.Tanh(), nn.Linear(32, ARMS))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
baseline = 0.0
for it in range(100):
    ctx = torch.randn(64, CTX)
    dist = Categorical(logits=policy(ctx))
    arm = dist.sample()
    reward = reward_of(ctx, arm)
    loss = -(dist.log_prob(arm) * (reward - baseline)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    if it % 20 == 19:
        print(f"iteration {it + 1} reward {reward.mean().item():.3f}")

ctx = torch.randn(500, CTX)
with torch.no_grad():
    best = policy(ctx).argmax(1)
print("greedy reward", reward_of(ctx, best).mean().item())
