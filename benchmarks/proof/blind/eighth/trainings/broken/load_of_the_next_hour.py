r"""Load of a power grid in the next hour from a day of loads, with attention over the hours.

Source: https://github.com/jsyoon0823/Time-series-prediction/issues/3
Fault: The output goes through a sigmoid and lies between 0 and 1, but the loads are standardised
    and reach from about -2 to 2.
Cause: sigmoid|(output|prediction)s?\b.{0,80}(range|between 0|bounded|limited|only positive
    |never (neg|below|above)|cannot|outside)|(target|label)s?\b.{0,60}(range|outside|beyond
    |negative|out of)
Place: sigmoid|fc|\by\b|target\w*|output|head|load
"""

import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(157)
parameters = {"seq_len": 24, "h_dim": 32, "batch_size": 64, "epochs": 6, "learning_rate": 3e-3}


def grid_load(hours=2000):
    t = torch.arange(hours).float()
    day = torch.sin(2 * math.pi * t / 24) + 0.4 * torch.sin(4 * math.pi * t / 24)
    week = 0.5 * torch.sin(2 * math.pi * t / 168)
    drift = torch.cumsum(0.05 * torch.randn(hours), 0)
    return 300 + 60 * (day + week) + 20 * (drift - drift.mean())


def data_preprocess(series, seq_len):
    series = (series - series.mean()) / series.std()
    windows = series.unfold(0, seq_len + 1, 1)
    return windows[:, :-1, None], windows[:, -1:]


class Attention(nn.Module):
    def __init__(self, h_dim):
        super().__init__()
        self.rnn = nn.GRU(1, h_dim, batch_first=True)
        self.score = nn.Linear(h_dim, 1)
        self.fc = nn.Linear(2 * h_dim, 1)

    def forward(self, x):
        states, last = self.rnn(x)
        alphas = torch.softmax(self.score(torch.tanh(states)), dim=1)
        context = (alphas * states).sum(dim=1)
        return torch.sigmoid(self.fc(torch.cat([context, last[0]], dim=1)))  # here


x, y = data_preprocess(grid_load(), parameters["seq_len"])
cut = int(0.8 * len(x))
train_loader = DataLoader(
    TensorDataset(x[:cut], y[:cut]), batch_size=parameters["batch_size"], shuffle=True
)
model = Attention(parameters["h_dim"])
optimizer = torch.optim.Adam(model.parameters(), lr=parameters["learning_rate"])
for epoch in range(parameters["epochs"]):
    total = 0.0
    for batch_x, batch_y in train_loader:
        loss = nn.functional.mse_loss(model(batch_x), batch_y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(train_loader)
    print(f"epoch {epoch} mse {total:.4f}")
with torch.no_grad():
    error = (model(x[cut:]) - y[cut:]).abs().mean().item()
    naive = (x[cut:, -1] - y[cut:]).abs().mean().item()
print(f"MAE {error:.4f}, of the last value {naive:.4f}")
