r"""Forecast of a demand by a recurrent network that feeds its own output back in.

Source: https://github.com/sktime/pytorch-forecasting/issues/182
Fault: In the decoder the feature of the last value holds the value that is to be predicted, so the
    network learns to copy it, and it fails where the value is not known.
Cause: leak|copy|copies|(target|future|answer|true value|label).{0,80}(input|feature|feeds?|fed
    |decoder|known|visible|see)|(input|feature|decoder)\w*.{0,80}(target|future|answer|label)
    |off.by.one|shift|lag
Place: target_pos|decoder\w*|previous|input_vector|teacher|prices
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(109)
ENCODER, DECODER = 24, 12


def demand(count=32):
    t = torch.arange(ENCODER + DECODER) + 50 * torch.rand(count, 1)
    week = torch.sin(2 * math.pi * t / 7 + 6 * torch.rand(count, 1))
    level = torch.randn(count, 1) + 0.02 * torch.randn(count, 1) * torch.arange(ENCODER + DECODER)
    return level + week + 0.1 * torch.randn_like(week)


def calendar(count, first, length):
    t = torch.arange(first, first + length)
    return torch.stack([torch.sin(2 * math.pi * t / 7), torch.cos(2 * math.pi * t / 7)], 1).expand(
        count, -1, -1
    )


class RecurrentForecaster(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.encoder = nn.GRU(3, hidden, batch_first=True)
        self.decoder = nn.GRU(3, hidden, batch_first=True)
        self.output = nn.Linear(hidden, 1)

    def encode(self, past):
        inputs = torch.cat([past[:, :-1, None], calendar(len(past), 1, ENCODER - 1)], 2)
        return self.encoder(inputs)[1]

    def forward(self, series):
        hidden = self.encode(series[:, :ENCODER])
        previous = series[:, ENCODER:]  # here
        inputs = torch.cat([previous[..., None], calendar(len(series), ENCODER, DECODER)], 2)
        return self.output(self.decoder(inputs, hidden)[0]).squeeze(2)

    @torch.no_grad()
    def predict(self, past):
        hidden, value, out = self.encode(past), past[:, -1:], []
        for step in range(DECODER):
            now = calendar(len(past), ENCODER + step, 1)
            state, hidden = self.decoder(torch.cat([value[..., None], now], 2), hidden)
            value = self.output(state).squeeze(2)
            out.append(value)
        return torch.cat(out, 1)


model = RecurrentForecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for batch in range(200):
    series = demand()
    loss = F.l1_loss(model(series), series[:, ENCODER:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if batch % 40 == 0:
        print(f"batch {batch}: train_MAE {loss.item():.4f}")
series = demand(500)
future = series[:, ENCODER:]
error = F.l1_loss(model.predict(series[:, :ENCODER]), future).item()
naive = F.l1_loss(series[:, ENCODER - 7 : ENCODER].repeat(1, 2)[:, :DECODER], future).item()
print(f"train_MAE {loss.item():.4f} test_MAE {error:.4f} last week again {naive:.4f}")
