r"""Survival by a partial likelihood over those still at risk.

Source: https://github.com/havakv/pycox/blob/master/pycox/models/loss.py
Odd: There is no target for a single sample, only an order; a constant added to all outputs changes
    nothing, so the last layer has no bias.
"""

import torch
from torch import nn


def cox_ph_loss(log_h, durations, events):
    order = durations.sort(descending=True)[1]
    events, log_h = events[order], log_h[order].view(-1)
    log_cumsum_h = log_h.logcumsumexp(0)
    return -(log_h - log_cumsum_h).mul(events).sum() / events.sum()


torch.manual_seed(0)
x = torch.randn(512, 8)
risk = 1.5 * x[:, 0] - x[:, 1]
time = -torch.rand(512).clamp(1e-6).log() / risk.exp()
censored = -torch.rand(512).clamp(1e-6).log() * 2
durations, events = torch.minimum(time, censored), (time < censored).float()
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1, bias=False))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(10):
    for index in torch.randperm(512).split(128):
        loss = cox_ph_loss(net(x[index]), durations[index], events[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
found = torch.corrcoef(torch.stack([net(x).squeeze(1), risk]))[0, 1].item()
print(f"loss {loss.item():.3f}, correlation with the risk {found:.3f}")
