r"""Motion of a pendulum from an energy whose gradients are the field.

Source: https://github.com/greydanus/hamiltonian-nn/blob/master/hnn.py
Odd: The output of the network is not in the loss, only its gradient by the input; the bias of the
    last layer has none and is left out.
"""

import torch
from torch import nn

torch.manual_seed(0)
state = (torch.rand(512, 2) * 2 - 1) * 2
field = torch.stack([state[:, 1], -torch.sin(state[:, 0])], 1)
hnn = nn.Sequential(
    nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1, bias=False)
)
optimizer = torch.optim.Adam(hnn.parameters(), lr=1e-2)
for step in range(60):
    index = torch.randint(0, 512, (64,))
    x = state[index].clone().requires_grad_()
    (grad,) = torch.autograd.grad(hnn(x).sum(), x, create_graph=True)
    dxdt = torch.stack([grad[:, 1], -grad[:, 0]], 1)
    loss = (dxdt - field[index]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f} of {field.var().item():.3f}")
