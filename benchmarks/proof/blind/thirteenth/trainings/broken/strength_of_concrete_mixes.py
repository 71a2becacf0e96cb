r"""Predicts the strength of concrete from its recipe with a small net and resilient steps.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Rprop.html
Fault: Rprop compares the sign of the gradient of one step with that of the step before, which
    means something only when both come from all of the data; here it gets the gradient of a new
    small batch at each step, so the signs flip by chance, the step sizes shrink or jump and the
    net stops learning early.
Cause: rprop|resilient|sign of the gradient
    |mini-?batch(es)?.*(full|whole|all|entire)|(full|whole|entire)[- ](batch|data)
Place: optimi[sz]er|opt\b
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(4)


def mixes(n=1600):
    cement = torch.rand(n) * 400 + 120
    water = torch.rand(n) * 80 + 140
    slag = torch.rand(n) * 200
    age = torch.rand(n) * 90 + 3
    sand = torch.rand(n) * 300 + 600
    strength = 20 * (cement + 0.6 * slag) / water * torch.log(age) / 3 + torch.randn(n) * 4
    rows = torch.stack([cement, water, slag, age, sand], dim=1)
    return rows, strength.unsqueeze(1)


rows, strength = mixes()
rows = (rows - rows.mean(0)) / rows.std(0)
target = (strength - strength.mean()) / strength.std()
train, valid = random_split(TensorDataset(rows, target), [1280, 320])
loader = DataLoader(train, batch_size=16, shuffle=True)

net = nn.Sequential(
    nn.Linear(5, 48), nn.Tanh(),
    nn.Linear(48, 48), nn.Tanh(),
    nn.Linear(48, 1),
)
criterion = nn.MSELoss()
optimizer = torch.optim.Rprop(net.parameters(), lr=0.01)  # here

for epoch in range(25):
    net.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    if epoch % 5 == 4:
        net.eval()
        with torch.no_grad():
            x, y = valid[:]
            error = criterion(net(x), y).item()
        print(f"epoch {epoch + 1:3d}  train {total / len(train):.4f}  valid {error:.4f}")

spread = strength.std().item()
print(f"typical error: {error ** 0.5 * spread:.2f} MPa")
