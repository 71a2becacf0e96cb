r"""Policy for one decision in a grid, with several steps on each batch of experience.

Source: https://github.com/jvmncs/safe-grid-agents/pull/28
Fault: The minus is inside of the minimum, so the surrogate is no longer clipped where it should be.
Cause: torch\.min|min\(|minimum|maximum|\bsigns?\b|minus|negation|surrogate|pessimis
    |lower bound|ratio.{0,60}(clip|far|outside|range|bound)|not.{0,20}clip
    |unclipped|clipp?\w*.{0,40}ratio
Place: policy_loss|surrogate|clipped
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(3)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=2e-2)
clipping, epochs = 0.2, 20


def play(count=128):
    cell = torch.randn(count, 4)
    with torch.no_grad():
        dist = Categorical(logits=actor(cell))
        action = dist.sample()
    safe = cell.gather(1, action[:, None]).squeeze(1)
    reward = safe - 2 * (safe < 0).float() + 0.5 * torch.randn(count)
    return cell, action, dist.log_prob(action), reward


for update in range(6):
    cell, action, old_log_prob, reward = play()
    with torch.no_grad():
        advantage = reward - critic(cell).squeeze(1)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(epochs):
        dist = Categorical(logits=actor(cell))
        ratio = (dist.log_prob(action) - old_log_prob).exp()
        clipped = ratio.clamp(1 - clipping, 1 + clipping)
        policy_loss = torch.min(-ratio * advantage, -clipped * advantage).mean()  # here
        value_loss = (critic(cell).squeeze(1) - reward).square().mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if update % 2 == 1:
        gap = (ratio - 1).abs().mean().item()
        print(f"update {update} return {reward.mean().item():.3f} ratio off by {gap:.3f}")
print(f"final return {play(2000)[3].mean().item():.3f}, policy loss {policy_loss.item():.3f}")
