r"""Prices used tractors with a net that stops when the held-out error no longer falls.

Source: https://docs.pytorch.org/ignite/generated/ignite.handlers.early_stopping.EarlyStopping.html
Fault: The count of epochs without progress is not set back when a new best comes; it adds up
    all such epochs of the run, so the training stops while the error is still falling.
Cause: (count|patience|wait|stale|stall|bad|worse)\w*.*(reset|set back|zero|add|accumul|total)
    |(not|never) (reset|set back|set to zero)|stops? (too )?early|early stop
Place: stale|patience|count|wait
"""
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(38)


def tractors(n):
    power = torch.rand(n) * 250 + 40
    hours = torch.rand(n) * 12000
    year = torch.rand(n) * 25
    wheels = torch.randint(0, 2, (n,)).float()
    price = 0.6 * power * torch.exp(-0.06 * year - hours / 15000) * (1 + 0.2 * wheels)
    table = torch.stack([power / 100, hours / 5000, year / 10, wheels], dim=1)
    return table, price / 10 + 0.4 * torch.randn(n)


x, y = tractors(1000)
valid_x, valid_y = tractors(120)
test_x, test_y = tractors(1000)
loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)

model = nn.Sequential(
    nn.Linear(4, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)


def error(x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x).squeeze(1), y).item()


best, best_state = float("inf"), None
patience, stale = 6, 0
for epoch in range(120):
    model.train()
    for a, b in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(a).squeeze(1), b)
        loss.backward()
        optimizer.step()
    now = error(valid_x, valid_y)
    if now < best:
        best = now
        best_state = copy.deepcopy(model.state_dict())  # here
    else:
        stale += 1
        if stale >= patience:
            print(f"stopped after epoch {epoch}")
            break

model.load_state_dict(best_state)
print(f"best valid error {best:.3f}, test error {error(test_x, test_y):.3f}")
