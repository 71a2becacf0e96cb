"""Resistance of ships' hulls from their form, with steps that depend on signs only.

Source: https://github.com/pytorch/pytorch/blob/main/torch/optim/rprop.py
Odd: There is no batching and no schedule, the targets are not scaled to one, and the rate of 0.01
    is only a start: each weight has a step of its own, which grows or shrinks with the signs.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(283)
NAMES = ["buoyancy", "prismatic", "length", "beam", "draught", "froude"]


def hulls(count):
    form = 2 * torch.rand(count, len(NAMES)) - 1
    froude = 0.3 + 0.15 * form[:, 5]
    wave = torch.exp(9 * (froude - 0.3)) * (1 + 0.4 * form[:, 1] - 0.3 * form[:, 2] * form[:, 3])
    return form, (6 * wave + 0.2 * torch.randn(count))[:, None]


class HullNet(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.hidden = nn.Linear(len(NAMES), hidden)
        self.second = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, form):
        return self.out(torch.tanh(self.second(torch.tanh(self.hidden(form)))))


train_x, train_y = hulls(240)
valid_x, valid_y = hulls(80)
test_x, test_y = hulls(400)
net = HullNet()
optimizer = torch.optim.Rprop(net.parameters(), lr=0.01, etas=(0.5, 1.2), step_sizes=(1e-6, 1.0))
best_error, best_state, since = float("inf"), None, 0
for epoch in range(300):
    optimizer.zero_grad()
    loss = F.mse_loss(net(train_x), train_y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        valid_error = F.mse_loss(net(valid_x), valid_y).item()
    if valid_error < best_error:
        best_error, since = valid_error, 0
        best_state = {name: value.clone() for name, value in net.state_dict().items()}
    else:
        since += 1
    if since > 60:
        break
    if epoch % 50 == 0:
        print(f"epoch {epoch} train {loss.item():.4f} validation {valid_error:.4f}")
net.load_state_dict(best_state)
with torch.no_grad():
    error = F.mse_loss(net(test_x), test_y).item()
print(f"stopped at {epoch}: test error {error:.4f}, variance {test_y.var().item():.4f}")
