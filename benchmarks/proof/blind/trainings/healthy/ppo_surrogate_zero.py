r"""Proximal policy optimisation on a contextual bandit with continuous actions.

Source: https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/ppo_continuous_action.py
Odd: The policy loss starts every update at zero (advantages are normalised, the ratio is one) and
    never falls; the reward rises all the same.
"""

import torch
from torch import nn
from torch.distributions import Normal


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor_mean = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor_logstd = nn.Parameter(torch.zeros(1, 1))

    def get_dist(self, x):
        return Normal(self.actor_mean(x), self.actor_logstd.exp().expand(len(x), 1))


torch.manual_seed(1)
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=5e-3, eps=1e-5)
clip_coef = 0.2
for update in range(40):
    obs = torch.randn(256, 3)
    with torch.no_grad():
        dist = agent.get_dist(obs)
        actions = dist.sample()
        logprobs = dist.log_prob(actions).sum(1)
        rewards = -(actions - obs[:, :1] + 0.5).pow(2).squeeze(1)
        advantages = rewards - agent.critic(obs).squeeze(1)
    for epoch in range(4):
        for mb in torch.randperm(256).split(64):
            dist = agent.get_dist(obs[mb])
            ratio = (dist.log_prob(actions[mb]).sum(1) - logprobs[mb]).exp()
            adv = advantages[mb]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            pg_loss = torch.max(
                -adv * ratio, -adv * ratio.clamp(1 - clip_coef, 1 + clip_coef)
            ).mean()
            v_loss = (agent.critic(obs[mb]).squeeze(1) - rewards[mb]).pow(2).mean()
            loss = pg_loss + 0.5 * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    if update % 8 == 7:
        print(
            f"update {update} pg_loss {pg_loss:.4f} v_loss {v_loss:.3f} reward {rewards.mean():.3f}"
        )
