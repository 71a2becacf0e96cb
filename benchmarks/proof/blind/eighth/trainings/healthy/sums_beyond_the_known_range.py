"""Sums and differences of hidden columns, tested on numbers ten times as large.

Source: https://github.com/kevinzakka/NALU-pytorch
Odd: The weights are a tanh times a sigmoid and are driven to saturation at -1, 0 and 1; there is no
    bias, no activation, and the targets are not standardised, because they are sums to be exact.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(257)


class NeuralAccumulatorCell(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.W_hat = nn.Parameter(torch.empty(out_dim, in_dim))
        self.M_hat = nn.Parameter(torch.empty(out_dim, in_dim))
        nn.init.kaiming_uniform_(self.W_hat)
        nn.init.kaiming_uniform_(self.M_hat)

    def weights(self):
        return torch.tanh(self.W_hat) * torch.sigmoid(self.M_hat)

    def forward(self, x):
        return F.linear(x, self.weights())


def arithmetic(count, low, high):
    x = low + (high - low) * torch.rand(count, 8)
    a, b = x[:, :3].sum(1), x[:, 4:7].sum(1)
    return x, torch.stack([a + b, a - b], 1)


def relative_error(model, low, high):
    x, y = arithmetic(1000, low, high)
    with torch.no_grad():
        return ((model(x) - y).abs().mean() / y.abs().mean()).item()


model = nn.Sequential(NeuralAccumulatorCell(8, 4), NeuralAccumulatorCell(4, 2))
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-2)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.995)
print(f"error before the training {relative_error(model, 0, 5):.4f}")
for epoch in range(400):
    x, y = arithmetic(64, 0, 5)
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if epoch % 80 == 0:
        print(f"epoch {epoch}: loss {loss.item():.6f}")
print(
    f"error in the known range {relative_error(model, 0, 5):.4f}, "
    f"beyond it {relative_error(model, 0, 50):.4f}"
)
