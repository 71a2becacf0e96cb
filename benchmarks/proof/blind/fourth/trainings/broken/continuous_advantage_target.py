r"""Value learning for continuous actions with a normalised advantage function.

Source: https://github.com/ikostrikov/pytorch-ddpg-naf/issues/16
Fault: The target adds the mask to the value of the next state in place of multiplying them.
Cause: diverg\w*|(values?|target|loss|output)\w* .*(grow|increas|ris|explod|large)\w*|\bmasks?\b
Place: expected_values|next_values|\bmasks?\b
"""

import copy

import torch
from torch import nn


class NAF(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 48), nn.Tanh())
        self.V, self.mu, self.L = nn.Linear(48, 1), nn.Linear(48, 1), nn.Linear(48, 1)

    def forward(self, state, action=None):
        x = self.body(state)
        value, mu = self.V(x), torch.tanh(self.mu(x))
        if action is None:
            return value
        return value - 0.5 * (action - mu).square() * self.L(x).exp().square()


torch.manual_seed(0)
model = NAF()
target_model = copy.deepcopy(model)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
gamma, tau = 0.9, 0.1
for update in range(150):
    states, actions = torch.rand(64, 3) * 2 - 1, torch.rand(64, 1) * 2 - 1
    rewards = -(actions - states[:, :1]).square()
    next_states = (states + 0.3 * actions).clamp(-1, 1)
    masks = (torch.rand(64, 1) > 0.1).float()
    with torch.no_grad():
        next_values = target_model(next_states)
    expected_values = rewards + (gamma * masks + next_values)  # here
    loss = nn.functional.mse_loss(model(states, actions), expected_values)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    for target, param in zip(target_model.parameters(), model.parameters(), strict=True):
        target.data.mul_(1 - tau).add_(param.data, alpha=tau)
print(f"mean value {model(torch.zeros(1, 3)).item():.2f}, loss {loss.item():.3f}")
