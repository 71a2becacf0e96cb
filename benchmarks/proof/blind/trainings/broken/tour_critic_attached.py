r"""Learns to pick the shortest of several routes with a policy and a critic as baseline.

Source: https://github.com/astariul/encode-attend-navigate-pytorch/pull/3
Fault: The baseline is not detached in the policy loss, so the critic gets the policy's gradient and
    drifts away from the expected length.
Cause: detach|(critic|value|baseline).*(gradient|backprop|policy loss|actor loss)
Place: critic|baseline|value
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 5))
critic = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=5e-3)
for step in range(250):
    lengths = 3 + torch.rand(64, 5)
    dist = Categorical(logits=actor(lengths))
    tour = dist.sample()
    reward = lengths.gather(1, tour[:, None]).squeeze(1)
    predictions = critic(lengths).squeeze(1)
    advantage = reward - predictions
    act_loss = (advantage * dist.log_prob(tour)).mean()  # here
    cri_loss = F.mse_loss(predictions, reward)
    optimizer.zero_grad()
    (act_loss + 0.05 * cri_loss).backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"{step} length {reward.mean():.3f} baseline {predictions.mean():.3f} {cri_loss:.2f}")
