r"""A training of `Bandit`.

Source: https://docs.pytorch.org/tutorials/intermediate/reinforcement_ppo.html
Fault: The entropy is added to the loss instead of subtracted, so exploration is punished and the
    policy collapses.
Cause: entropy|explor\w*
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(228)
K = 5
payoff = torch.tensor([0.3, 0.5, 0.2, 0.9, 0.6])


class Bandit(nn.Module):
    def __init__(self):
        super().__init__()
        self.logits = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, K))

    def forward(self, ctx):
        return Categorical(logits=self.logits(ctx))


agent = Bandit()
opt = torch.optim.Adam(agent.parameters(), lr=2e-2)
ENT_COEF, running = 0.1, 0.0
for it in range(120):
    ctx = torch.randn(16, 2)
    dist = agent(ctx)
    arm = dist.sample()
    reward = torch.bernoulli(payoff[(arm + (ctx[:, 0] > 0).long()) % K])
    adv = reward - running
    running = 0.95 * running + 0.05 * reward.mean().item()
    pg_loss = -(dist.log_prob(arm) * adv).mean()
    entropy = dist.entropy().mean()
    loss = pg_loss + ENT_COEF * entropy
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 30 == 29:
        print(f"{it + 1} reward {reward.mean().item():.3f} entropy {entropy.item():.3f}")
