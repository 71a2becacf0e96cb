r"""Agents with a recurrent state that is cut from its history every few steps.

Source: https://github.com/IC3Net/IC3Net/issues/7
Odd: The state goes on through the episode; gradients go back five steps only.
"""

import torch
from torch import nn

torch.manual_seed(0)
cell = nn.LSTMCell(2, 24)
head = nn.Linear(24, 1)
optimizer = torch.optim.RMSprop([*cell.parameters(), *head.parameters()], lr=3e-3)
detach_gap = 5
for episode in range(40):
    prev_hid = (torch.zeros(32, 24), torch.zeros(32, 24))
    total, seen = 0, torch.zeros(32, 1)
    for t in range(20):
        obs = torch.randn(32, 2)
        seen = 0.7 * seen + 0.3 * obs[:, :1]
        prev_hid = cell(obs, prev_hid)
        total = total + (head(prev_hid[0]) - seen).square().mean() / 20
        if (t + 1) % detach_gap == 0:
            prev_hid = (prev_hid[0].detach(), prev_hid[1].detach())
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    if episode % 10 == 0:
        print(f"episode {episode} loss {total.item():.4f}")
print(f"loss {total.item():.4f}")
