r"""Policy gradient with a value function on a game whose rewards grow as it is learned.

Source: https://github.com/Stanford-ILIAD/PantheonRL/issues/5
Odd: The error of the values rises with the rewards; only the reward says that this works.
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(5, 48), nn.Tanh())
policy, value = nn.Linear(48, 5), nn.Linear(48, 1)
params = [*body.parameters(), *policy.parameters(), *value.parameters()]
optimizer = torch.optim.Adam(params, lr=1e-2)
for update in range(60):
    state = torch.randn(256, 5)
    features = body(state)
    dist = Categorical(logits=policy(features))
    action = dist.sample()
    streak = (action == state.argmax(1)).float()
    reward = 8 * streak * torch.rand(256)
    advantage = reward - value(features).squeeze(1)
    value_loss = advantage.square().mean()
    scaled = (advantage.detach() - advantage.detach().mean()) / advantage.detach().std()
    policy_loss = -(dist.log_prob(action) * scaled).mean()
    loss = policy_loss + 0.05 * value_loss - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 15 == 0:
        print(f"reward {reward.mean().item():.2f} value loss {value_loss.item():.2f}")
print(f"reward {reward.mean().item():.2f} value loss {value_loss.item():.2f}")
