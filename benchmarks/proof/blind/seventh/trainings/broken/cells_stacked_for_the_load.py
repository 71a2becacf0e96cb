r"""The electric load of the next hour, with recurrent cells stacked on a first layer.

Source: https://github.com/ikostrikov/pytorch-meta-optimizer/issues/11
Fault: The cells are kept in a plain list, so that the optimizer never sees their weights.
Cause: (ModuleList|plain list|python list|a list|not registered|unregistered|registr)
    |(cell|lstm|layer|weight|parameter)s?.{0,80}(not|never|n't|miss|without).{0,40}(train|optimi)
    |(cell|lstm|layer|weight|parameter)s?.{0,80}(not|never|n't|miss).{0,40}(updat|chang)
    |(untrained|fixed|frozen|random).{0,40}(cell|lstm|weight)
Place: lstms|cells?|LSTMCell
"""

import math

import torch
import torch.nn as nn

torch.manual_seed(18)


class LoadModel(nn.Module):
    def __init__(self, inputs=3, hidden_size=24, num_layers=2):
        super().__init__()
        self.hidden_size = hidden_size
        self.linear1 = nn.Linear(inputs, hidden_size)
        self.lstms = []
        for _ in range(num_layers):
            self.lstms.append(nn.LSTMCell(hidden_size, hidden_size))  # here
        self.linear2 = nn.Linear(hidden_size, 1)

    def forward(self, x):
        zeros = x.new_zeros(x.size(0), self.hidden_size)
        state = [(zeros, zeros) for _ in self.lstms]
        for t in range(x.size(1)):
            h = torch.tanh(self.linear1(x[:, t]))
            for i, cell in enumerate(self.lstms):
                state[i] = cell(h, state[i])
                h = state[i][0]
        return self.linear2(h)


def windows(count, length=16):
    start = torch.randint(0, 1000, (count, 1))
    hours = start + torch.arange(length + 1)
    level = torch.randn(count, length + 1).cumsum(1) * 0.1
    heat = torch.sin(2 * math.pi * hours / 24) + level
    flag = (torch.rand(count, length + 1) < 0.2).float()
    memory = torch.zeros(count)
    load = []
    for t in range(length + 1):
        memory = torch.where(flag[:, t] > 0, heat[:, t], 0.97 * memory)
        load.append(memory)
    load = torch.stack(load, 1)
    x = torch.stack([heat, flag, torch.cos(2 * math.pi * hours / 24)], 2)
    return x[:, :-1], load[:, -2:-1] + 0.02 * torch.randn(count, 1)


model = LoadModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 140)
test_x, test_y = windows(200)
for step in range(140):
    x, y = windows(48)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if step % 30 == 29:
        with torch.no_grad():
            test = nn.functional.mse_loss(model(test_x), test_y).item() / test_y.var().item()
        print(f"step {step + 1} loss {loss.item():.4f} unexplained {test:.4f}")
