r"""Fits a small linear layer to four fixed targets, as a first example of a toolkit.

Source: https://github.com/IBM/aihwkit/issues/446
Fault: Gradients pile up from step to step, so the loss falls, rises and swings instead of settling.
Cause: zero_grad|gradients? (are )?(never |not )?(accumul|cleared|reset|zeroed)|accumulat\w+ grad
"""

import torch
from torch import nn
from torch.nn.functional import mse_loss

torch.manual_seed(11)

x = torch.tensor([[0.1, 0.2, 0.4, 0.3], [0.2, 0.1, 0.1, 0.3]] * 4)
y = torch.tensor([[1.0, 0.5], [0.7, 0.3]] * 4)

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(100):
    pred = model(x)
    loss = mse_loss(pred, y)
    loss.backward()
    opt.step()  # here
    if epoch % 10 == 9:
        print(f"Loss error: {loss.item():.16f}")
