r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.randperm.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(182)
n = 640
temp = torch.rand(n) * 30
humid = torch.rand(n)
wind = torch.rand(n) * 10
rain = (humid > 0.55 + 0.01 * (temp - 15)).long()
features = torch.stack([temp / 30, humid, wind / 10], 1)
train_x, train_y = features[:512], rain[:512]
test_x, test_y = features[512:], rain[512:]

model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
batch_size = 64


def shuffled():
    order = torch.randperm(512)
    return train_x[order], train_y[order]


for epoch in range(12):
    model.train()
    xs, ys = shuffled()
    for i in range(0, 512, batch_size):
        opt.zero_grad()
        loss = criterion(model(xs[i:i + batch_size]), ys[i:i + batch_size])
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    print("test acc", (model(test_x).argmax(1) == test_y).float().mean().item())
