r"""REINFORCE with a running baseline.

Source: https://github.com/pytorch/examples/blob/main/reinforcement_learning/reinforce.py
    https://github.com/ikostrikov/pytorch-a3c/issues/30
Odd: The loss is noisy, changes its sign and does not fall; it is a surrogate, and the reward rises
    from 0.25 to nearly one.
"""

import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1, self.affine2 = nn.Linear(4, 32), nn.Linear(32, 4)

    def forward(self, x):
        return self.affine2(torch.relu(self.affine1(x)))


torch.manual_seed(543)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
running_reward = 0.0
for i_episode in range(200):
    state = torch.randn(32, 4)
    m = Categorical(logits=policy(state))
    action = m.sample()
    reward = (action == state.argmax(1)).float()
    policy_loss = (-m.log_prob(action) * (reward - running_reward)).mean()
    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()
    running_reward = 0.05 * reward.mean().item() + 0.95 * running_reward
    if i_episode % 40 == 39:
        print(f"Episode {i_episode} loss {policy_loss.item():+.4f} reward {running_reward:.3f}")
