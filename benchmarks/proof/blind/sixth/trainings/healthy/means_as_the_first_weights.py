r"""Linear forecast of a season and a trend apart.

Source: https://github.com/cure-lab/LTSF-Linear
Odd: All weights of both layers start with one and the same value, and there is no nonlinearity in
    the model at all.
"""

import torch
from torch import nn

torch.manual_seed(6)
seq_len, pred_len = 48, 12


class DLinear(nn.Module):
    def __init__(self, kernel_size=13):
        super().__init__()
        self.kernel_size = kernel_size
        self.avg = nn.AvgPool1d(kernel_size, stride=1)
        self.linear_seasonal = nn.Linear(seq_len, pred_len)
        self.linear_trend = nn.Linear(seq_len, pred_len)
        ones = torch.ones(pred_len, seq_len)
        self.linear_seasonal.weight = nn.Parameter(ones / seq_len)
        self.linear_trend.weight = nn.Parameter(ones / seq_len)

    def forward(self, x):
        x = x.permute(0, 2, 1)
        end = (self.kernel_size - 1) // 2
        front, back = x[..., :1].repeat(1, 1, end), x[..., -1:].repeat(1, 1, end)
        trend = self.avg(torch.cat([front, x, back], -1))
        y = self.linear_seasonal(x - trend) + self.linear_trend(trend)
        return y.permute(0, 2, 1)


def windows(count=64, channels=3):
    t = torch.arange(seq_len + pred_len, dtype=torch.float)[None, :, None]
    phase = 24 * torch.rand(count, 1, channels)
    slope = 0.02 * torch.randn(count, 1, channels)
    series = torch.sin(6.2832 * (t + phase) / 24) + slope * t
    series = series + 0.1 * torch.randn_like(series)
    return series[:, :seq_len], series[:, seq_len:]


model = DLinear()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()
for i in range(120):
    past, future = windows()
    loss = criterion(model(past), future)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 30 == 0:
        print(f"iters: {i} | loss: {loss.item():.4f}")
print(f"last loss {loss.item():.4f}, variance of the future {future.var().item():.4f}")
