r"""The model `EventModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.floor_divide.html
Fault: The exponent torch.arange(0, d, 2) // d is an integer division giving 0 everywhere, so all
    channels have the same frequency.
Cause: integer|floor|//|(same|identical|constant|equal|all) (frequenc|wavelength|value)
    |frequenc.*(same|identical|constant|all|one|equal)|duplicate (column|channel)
    |does not tell positions apart
"""

import torch
import torch.nn as nn


class SinusoidalTable(nn.Module):
    def __init__(self, length, dim):
        super().__init__()
        pos = torch.arange(length).float().unsqueeze(1)
        inv_freq = 10000.0 ** -(torch.arange(0, dim, 2) // dim)
        angle = pos * inv_freq
        self.register_buffer("table", torch.cat([angle.sin(), angle.cos()], dim=1))

    def forward(self, x):
        return x + self.table[:x.size(1)]


class EventModel(nn.Module):
    def __init__(self, kinds=40, dim=32, out=4):
        super().__init__()
        self.embed = nn.Embedding(kinds, dim)
        self.pos = SinusoidalTable(128, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, out)

    def forward(self, events):
        h = self.layer(self.pos(self.embed(events)))
        return self.out(h[:, -1])


torch.manual_seed(0)
model = EventModel()
example_inputs = (torch.randint(0, 40, (6, 30)),)
