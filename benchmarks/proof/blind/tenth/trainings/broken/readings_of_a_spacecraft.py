r"""Next reading of a spacecraft's sensor, learned on quiet days and used on later ones.

Source: https://github.com/khundman/telemanom/issues/23
Fault: The later readings are brought to -1..1 with their own smallest and largest value instead of
    those of the training readings, so the same reading has another value there.
Cause: (test|later|own|separate|independent|each|different).{0,100}(scal|normali|min|max|statistic
    |range)|(own|instead of).{0,40}(smallest|largest|training)|(scal|normali|min.?max|statistic
    |range).{0,100}(test|separate|independent|own|each|different|train)
Place: normali[sz]e|scale|test|low|high|minimum|maximum|later
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(23)
PAST = 20


def telemetry(count):
    swing = torch.sin(2 * torch.pi * torch.arange(count).float() / 25)
    return 20 + 4 * swing**3 + 0.2 * torch.randn(count)


train = telemetry(700)
later = telemetry(500)
later[[120, 121, 122, 310]] += torch.tensor([14.0, 16.0, 13.0, -9.0])


def normalize(series):
    low, high = series.min(), series.max()
    return 2 * (series - low) / (high - low) - 1


train_scaled = normalize(train)
later_scaled = normalize(later)  # here


def windows(series):
    rows = series.unfold(0, PAST + 1, 1)
    return rows[:, :PAST].unsqueeze(2), rows[:, PAST]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1]).squeeze(1)


x, y = windows(train_scaled)
x_later, y_later = windows(later_scaled)
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(16):
    for rows in torch.randperm(len(x)).split(64):
        loss = F.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 3:
        with torch.no_grad():
            error = (model(x_later) - y_later).abs()
            spread = y_later.quantile(0.9) - y_later.quantile(0.1)
        print(
            f"epoch {epoch + 1} train loss {loss.item():.5f} "
            f"median error {error.median() / spread:.4f} of the usual spread"
        )
alarms = (error > 6 * error.median()).nonzero().flatten()
print(f"alarms {len(alarms)} at {[int(a) + PAST for a in alarms[:6]]}")
