r"""A training of `Curve`.

Source: https://docs.pytorch.org/docs/stable/optim.html#optimizer-step-closure
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn

torch.manual_seed(7)
t = torch.linspace(0, 1, 120).unsqueeze(1)
signal = torch.sin(9 * t) * torch.exp(-t) + 0.03 * torch.randn_like(t)
train_t, train_s = t[::2], signal[::2]
test_t, test_s = t[1::2], signal[1::2]


class Curve(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))

    def forward(self, z):
        return self.net(z)


curve = Curve()
optimizer = torch.optim.LBFGS(curve.parameters(), lr=0.5, max_iter=6)
mse = nn.MSELoss()


def closure():
    optimizer.zero_grad()
    loss = mse(curve(train_t), train_s)
    loss.backward()
    return loss


for it in range(25):
    loss = optimizer.step(closure)
    if it % 5 == 0:
        print(it, loss.item())
with torch.no_grad():
    print("test", mse(curve(test_t), test_s).item())
