r"""Learns the temperature along a kiln from place, fuel and draught with a helper for each batch.

Source: https://docs.pytorch.org/docs/stable/optim.html
Fault: The helper that trains one batch builds a new Adam each time it is called, so the running
    averages of the gradients are lost after every step; each step is then as large as the rate
    in every weight, whatever the gradient, and the error stays on a high floor.
Cause: (new|again|anew|each|every|creat|buil[dt]|reset|construct|insid)\w*.*optimi[sz]er
    |optimi[sz]er.*(inside|within|each|every|per|lost|anew|again|state|new|re-?creat|rebuil)
    |(moment|running average|state)\w*.*(lost|reset|thrown|discard)
    |(new|fresh) adam|adam.*(each|every|new|again|per batch)
Place: optimi[sz]er|train_batch|Adam
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
LR = 0.01


def readings(n):
    place, fuel, draught = torch.rand(n), torch.rand(n), torch.rand(n)
    peak = 0.4 + 0.3 * draught
    heat = (0.5 + fuel) * torch.exp(-((place - peak) ** 2) / 0.05) + 0.3 * place
    return torch.stack([place, fuel, draught], 1), (heat + 0.02 * torch.randn(n)).unsqueeze(1)


class KilnNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(3, 64)
        self.hidden2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        x = torch.tanh(self.hidden1(x))
        x = torch.tanh(self.hidden2(x))
        return self.out(x)


def train_batch(model, x, y):
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)  # here
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def validate(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


x, y = readings(1500)
loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=50, shuffle=True)
model = KilnNet()
for epoch in range(60):
    losses = [train_batch(model, *batch) for batch in loader]
    if epoch % 10 == 9:
        mean = sum(losses) / len(losses)
        error = validate(model, x[1200:], y[1200:])
        print(f"epoch {epoch + 1}: train {mean:.5f} valid {error:.5f}")
