r"""Forecast of the heat in rooms, an hour ahead, by a transformer for series.

Source: https://github.com/maxjcohen/transformer/issues/49
Fault: The output goes through a sigmoid although the targets are far outside of zero to one.
Cause: sigmoid
    |(output|prediction)s?.{0,60}(range|bound|limit|\[0, ?1\]|between 0|saturat|squash)|saturat
Place: sigmoid
"""

import math

import torch
from torch import nn

torch.manual_seed(23)


def rooms(count=48, hours=20):
    outside = 4 * torch.sin(torch.arange(hours) * 2 * math.pi / 24 + 6 * torch.rand(count, 1))
    sun = torch.rand(count, hours)
    heat = torch.zeros(count, hours)
    level = 20 + torch.randn(count)
    for hour in range(hours):
        level = 0.9 * level + 0.1 * (outside[:, hour] + 18) + 0.5 * sun[:, hour]
        heat[:, hour] = level
    return torch.stack([outside / 4, sun], -1), (heat - 19) / 1.5


class Transformer(nn.Module):
    def __init__(self, d_input=2, d_model=24, d_output=1):
        super().__init__()
        self._embedding = nn.Linear(d_input, d_model)
        layer = nn.TransformerEncoderLayer(d_model, 4, 48, 0.0, batch_first=True)
        self.layers_encoding = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.register_buffer("hours", torch.linspace(-1, 1, 20)[None, :, None])
        self._linear = nn.Linear(d_model, d_output)

    def forward(self, x):
        encoding = self.layers_encoding(self._embedding(x) + self.hours)
        output = self._linear(encoding)
        return torch.sigmoid(output)  # here


net = Transformer()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
loss_function = nn.MSELoss()
for step in range(110):
    x, heat = rooms()
    loss = loss_function(net(x).squeeze(-1), heat)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
print(f"last loss {loss.item():.4f}, variance of the target {heat.var().item():.4f}")
