"""Trains with much dropout and noise on the inputs.

Source: https://keras.io/getting_started/faq/
Odd: the training loss is higher than the validation loss in all the epochs; dropout and the noise
    are on only in training.
"""

import torch
from torch import nn

torch.manual_seed(4)
centres = torch.randn(5, 30)
y = torch.randint(0, 5, (700,))
x = centres[y] + 0.9 * torch.randn(700, 30)
train_x, train_y, val_x, val_y = x[:500], y[:500], x[500:], y[500:]


class GaussianNoise(nn.Module):
    def __init__(self, std):
        super().__init__()
        self.std = std

    def forward(self, x):
        return x + self.std * torch.randn_like(x) if self.training else x


model = nn.Sequential(
    GaussianNoise(0.5), nn.Linear(30, 64), nn.ReLU(), nn.Dropout(0.6), nn.Linear(64, 5)
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    model.train()
    train_loss = 0.0
    for rows in torch.randperm(500).split(50):
        loss = nn.functional.cross_entropy(model(train_x[rows]), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss += loss.item() / 10
    model.eval()
    with torch.no_grad():
        val_loss = nn.functional.cross_entropy(model(val_x), val_y).item()
    print(f"epoch {epoch} train {train_loss:.4f} val {val_loss:.4f}")
