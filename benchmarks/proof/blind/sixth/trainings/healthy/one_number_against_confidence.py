r"""A classifier is trained, then made less sure of itself.

Source: https://github.com/gpleiss/temperature_scaling
Odd: The second optimizer has one number, steps once with a closure, and its logits come from a
    model under no_grad; the accuracy does not change by it.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(19)
rule = torch.randn(20, 4)


def sample(count):
    x = torch.randn(count, 20)
    return x, (x @ rule + 2.5 * torch.randn(count, 4)).argmax(1)


class ModelWithTemperature(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.temperature = nn.Parameter(torch.ones(1) * 1.5)

    def forward(self, x):
        return self.temperature_scale(self.model(x))

    def temperature_scale(self, logits):
        return logits / self.temperature

    def set_temperature(self, x, labels):
        with torch.no_grad():
            logits = self.model(x)
        optimizer = torch.optim.LBFGS([self.temperature], lr=0.1, max_iter=50)

        def evaluate():
            optimizer.zero_grad()
            loss = F.cross_entropy(self.temperature_scale(logits), labels)
            loss.backward()
            return loss

        optimizer.step(evaluate)


train_x, train_y = sample(800)
valid, test = sample(500), sample(2000)
net = nn.Sequential(nn.Linear(20, 96), nn.ReLU(), nn.Linear(96, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(100):
    pick = torch.randint(0, 800, (100,))
    loss = F.cross_entropy(net(train_x[pick]), train_y[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}")
scaled = ModelWithTemperature(net)
scaled.set_temperature(*valid)
with torch.no_grad():
    logits, labels = net(test[0]), test[1]
    before = F.cross_entropy(logits, labels).item()
    after = F.cross_entropy(scaled.temperature_scale(logits), labels).item()
    accuracy = (logits.argmax(1) == labels).float().mean().item()
print(f"temperature {scaled.temperature.item():.3f} accuracy {accuracy:.3f}")
print(f"test loss {before:.3f} before, {after:.3f} after")
