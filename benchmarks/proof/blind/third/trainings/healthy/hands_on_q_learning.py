r"""Q-learning with a target network on a random chain.

Source: https://github.com/boyu-ai/Hands-on-RL/issues/112
Odd: The target is not detached, so the target network collects gradients; it is in no optimizer
    and is overwritten by copies only, so the update of q_net is the same.
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
q_net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
target_q_net = copy.deepcopy(q_net)
optimizer = torch.optim.Adam(q_net.parameters(), lr=3e-3)
eye = torch.eye(6)
for count in range(600):
    states = torch.randint(0, 6, (64,))
    actions = torch.randint(0, 2, (64, 1))
    next_states = (states + 2 * actions.squeeze(1) - 1).clamp(0, 5)
    dones = (next_states == 5).float().view(-1, 1)
    rewards = dones
    q_values = q_net(eye[states]).gather(1, actions)
    max_next_q_values = target_q_net(eye[next_states]).max(1)[0].view(-1, 1)
    q_targets = rewards + 0.9 * max_next_q_values * (1 - dones)
    dqn_loss = torch.mean(nn.functional.mse_loss(q_values, q_targets))
    optimizer.zero_grad()
    dqn_loss.backward()
    optimizer.step()
    if count % 10 == 0:
        target_q_net.load_state_dict(q_net.state_dict())
print(f"start value {q_net(eye[0]).max().item():.3f} (0.656)")
