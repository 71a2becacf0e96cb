r"""A training.

Source: https://docs.pytorch.org/docs/stable/distributions.html#score-function
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(222)
LENGTH, GAMMA = 5, 0.95
policy = nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=2e-2)
eye = torch.eye(LENGTH)


def play_episode():
    pos, log_probs, rewards = 0, [], []
    for _ in range(15):
        dist = Categorical(logits=policy(eye[pos]))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        pos = min(LENGTH - 1, pos + 1) if action.item() == 1 else max(0, pos - 1)
        done = pos == LENGTH - 1
        rewards.append(1.0 if done else -0.1)
        if done:
            break
    return torch.stack(log_probs), rewards


lengths = []
for episode in range(100):
    log_probs, rewards = play_episode()
    g, returns = 0.0, []
    for r in reversed(rewards):
        g = r + GAMMA * g
        returns.insert(0, g)
    loss = -(log_probs * torch.tensor(returns)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lengths.append(len(rewards))
    if episode % 25 == 24:
        print(f"episode {episode + 1} mean length {sum(lengths[-25:]) / 25:.2f}")
