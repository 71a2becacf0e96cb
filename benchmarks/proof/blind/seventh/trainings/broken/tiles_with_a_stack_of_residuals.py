r"""Tiles mapped to another field by a stack of residual layers.

Source: https://github.com/zalandoresearch/pytorch-vq-vae/issues/2
Fault: The list is made by multiplication, so all residual layers are one object with one set of
    weights.
Cause: (shar|same|one|single|identical|tied)\w*.{0,60}(weight|layer|module|object|instance|block)
    |(weight|layer|module|object|instance|block)s?.{0,60}(shar|same|identical|tied|reused)
    |list.{0,30}multipl
Place: _layers|ResidualStack|Residual
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
SIDE, HIDDENS = 8, 16


class Residual(nn.Module):
    def __init__(self, in_channels, num_hiddens, num_residual_hiddens):
        super().__init__()
        self._block = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(in_channels, num_residual_hiddens, 3, padding=1, bias=False),
            nn.ReLU(),
            nn.Conv2d(num_residual_hiddens, num_hiddens, 1, bias=False),
        )

    def forward(self, x):
        return x + self._block(x)


class ResidualStack(nn.Module):
    def __init__(self, in_channels, num_hiddens, num_residual_layers, num_residual_hiddens):
        super().__init__()
        self._num_residual_layers = num_residual_layers
        block = Residual(in_channels, num_hiddens, num_residual_hiddens)
        self._layers = nn.ModuleList([block] * num_residual_layers)  # here

    def forward(self, x):
        for i in range(self._num_residual_layers):
            x = self._layers[i](x)
        return F.relu(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self._conv_1 = nn.Conv2d(2, HIDDENS, 3, padding=1)
        self._residual_stack = ResidualStack(HIDDENS, HIDDENS, 4, 8)
        self._conv_2 = nn.Conv2d(HIDDENS, 1, 1)

    def forward(self, x):
        return self._conv_2(self._residual_stack(self._conv_1(x)))


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 12, 3, padding=1)
        self.rest = nn.ModuleList([nn.Conv2d(12, 12, 3, padding=1) for _ in range(4)])
        self.last = nn.Conv2d(12, 1, 1)

    @torch.no_grad()
    def forward(self, x):
        x = self.first(x)
        for conv in self.rest:
            x = torch.tanh(1.9 * conv(x))
        return 2.5 * self.last(x)


teacher = Teacher()
test_x = torch.randn(100, 2, SIDE, SIDE)
test_y = teacher(test_x)
model = Model()
print(sum(p.numel() for p in model.parameters()), "parameters")
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(240):
    x = torch.randn(32, 2, SIDE, SIDE)
    loss = F.mse_loss(model(x), teacher(x)) / test_y.var()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        with torch.no_grad():
            error = (F.mse_loss(model(test_x), test_y) / test_y.var()).item()
        print(f"step {step + 1} loss {loss.item():.4f} test {error:.4f}")
