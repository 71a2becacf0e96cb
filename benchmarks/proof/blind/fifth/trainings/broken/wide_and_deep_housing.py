r"""Wide and deep regression of house values from figures of a district.

Source: https://github.com/ageron/handson-ml3/pull/20
Fault: The network is fed the raw figures, whose scales differ by thousands, not normalised ones.
Cause: (not|un|without|no)\W?\s?(being )?(normali[sz]\w*|standardi[sz]\w*|scaled)|normali[sz]e
    |standardi[sz]e|(inputs?|features?|columns?) .*(range|scales?|magnitude|large|size|raw)
    |raw (inputs?|features?|figures)
Place: \bhidden1\b
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class WideAndDeep(nn.Module):
    def __init__(self, features, units=30):
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("std", torch.ones(features))
        self.hidden1 = nn.Linear(features, units)
        self.hidden2 = nn.Linear(units, units)
        self.output = nn.Linear(features + units, 1)

    def adapt(self, x):
        self.mean.copy_(x.mean(0))
        self.std.copy_(x.std(0))

    def forward(self, x):
        normalized = (x - self.mean) / self.std
        deep = torch.relu(self.hidden2(torch.relu(self.hidden1(x))))  # here
        return self.output(torch.cat([normalized, deep], dim=1)).squeeze(1)


def districts(count):
    income = torch.rand(count) * 8
    age = torch.rand(count) * 50
    rooms = 2 + torch.rand(count) * 6
    population = 200 + torch.rand(count) * 5000
    latitude = 32 + torch.rand(count) * 10
    x = torch.stack([income, age, rooms, population, latitude], dim=1)
    value = torch.sin(income) + (latitude - 37).abs() / 3 + 0.02 * age + 0.1 * torch.randn(count)
    return x, value


torch.manual_seed(42)
x_train, y_train = districts(640)
x_valid, y_valid = districts(300)
model = WideAndDeep(5)
model.adapt(x_train)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    for x, y in DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        valid = nn.functional.mse_loss(model(x_valid), y_valid).sqrt().item()
    print(f"epoch {epoch + 1} root of mean squared error {valid:.4f}")
