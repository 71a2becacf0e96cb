r"""Temporal-difference learning of a chain with a slowly refreshed target network.

Source: https://github.com/datawhalechina/easy-rl/pull/117
Fault: policy_net and target_net are one object, so the target moves with every step.
Cause: (same|one|identical|shared?) .*(object|module|network|parameter|weight)|deepcopy|alias
    |deepcopy|alias
Place: target_net|policy_net|deepcopy
"""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
policy_net = model
target_net = model  # here
optimizer = torch.optim.SGD(policy_net.parameters(), lr=0.05)
chain = torch.eye(6)
lag = []
for step in range(200):
    state = torch.randint(0, 6, (16,))
    following = (state + 1).clamp(max=5)
    done = (state == 5).float()
    with torch.no_grad():
        expected = done + 0.95 * (1 - done) * target_net(chain[following]).squeeze(1)
    loss = nn.functional.mse_loss(policy_net(chain[state]).squeeze(1), expected)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lag.append((policy_net(chain) - target_net(chain)).abs().mean().item())
    if step % 25 == 24:
        target_net.load_state_dict(policy_net.state_dict())
print(f"lag of the target {sum(lag) / len(lag):.4f}")
