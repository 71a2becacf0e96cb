r"""Forecast of a price by a recurrent network.

Source: https://github.com/huseinzol05/Stock-Prediction-Models/issues/126
Fault: Minimum and maximum are of the whole series, the test period included.
Cause: leak\w*|(test|validation|future)\w* .*(scal|normali|minimum|maximum|statistic)\w*
    |scal\w+ .*(test|whole|all|future)
Place: minmax|scaler|\blow\b|\bhigh\b
"""

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 24, batch_first=True)
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


torch.manual_seed(0)
price = (torch.randn(360) * 0.02 + 0.002).cumsum(0).exp() * 100
low, high = price.min(), price.max()  # here
scaled = (price - low) / (high - low)
windows = scaled.unfold(0, 11, 1)
train, test = windows[:280], windows[280:]
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for index in torch.randperm(len(train)).split(40):
        batch = train[index]
        loss = nn.functional.mse_loss(model(batch[:, :-1, None]), batch[:, -1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    error = nn.functional.mse_loss(model(test[:, :-1, None]), test[:, -1:])
print(f"test error {error.item():.5f}")
