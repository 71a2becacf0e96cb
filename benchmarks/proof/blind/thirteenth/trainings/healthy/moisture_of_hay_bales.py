r"""Measures the moisture of hay bales and first looks for a rate with a short trial run.

Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiplicativeLR.html
Healthy: In the trial the rate grows at each batch until the loss bursts; afterwards the saved
    copy of the weights is put back and a new optimizer is made, so the trial leaves no trace.
"""
import copy

import torch
from torch import nn
from torch.optim.lr_scheduler import MultiplicativeLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(135)


def bales(n):
    moisture = torch.rand(n, 1) * 0.4 + 0.05
    density = torch.rand(n, 1) + 0.5
    wave = torch.linspace(0, 1, 24)
    dip = torch.exp(-((wave - 0.55) ** 2) / 0.01) * moisture * 3 + 0.2 * density * wave
    return 1 - dip + 0.03 * torch.randn(n, 24), moisture * 5


def try_rates(model, loader, first=1e-4, growth=1.25):
    start = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=first, momentum=0.9)
    scheduler = MultiplicativeLR(optimizer, lambda step: growth)
    best, best_rate = float("inf"), first
    while True:
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            if not loss.item() < 4 * best:
                model.load_state_dict(start)
                return best_rate / 5
            if loss.item() < best:
                best, best_rate = loss.item(), optimizer.param_groups[0]["lr"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()


loader = DataLoader(TensorDataset(*bales(1200)), batch_size=40, shuffle=True)
test_x, test_y = bales(300)
model = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 1))
rate = try_rates(model, loader)
print(f"rate {rate:.5f}")
optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
for epoch in range(15):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.5f}")
with torch.no_grad():
    print(f"test error {nn.functional.mse_loss(model(test_x), test_y).item():.5f}")
