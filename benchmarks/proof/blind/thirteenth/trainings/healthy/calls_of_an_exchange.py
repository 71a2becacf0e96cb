r"""Predicts the length of telephone calls from a table that is read in whole batches.

Source: https://docs.pytorch.org/docs/stable/data.html
Healthy: The loader has batch_size=None and a batch sampler as its sampler; the table is then
    asked for a list of rows at once, which is documented and faster, and the order is random.
"""
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

torch.manual_seed(125)


class Calls(Dataset):
    def __init__(self, n):
        hour = torch.randint(0, 24, (n,))
        zone = torch.randint(0, 6, (n,))
        business = ((hour > 8) & (hour < 18) & (zone < 4)).float()
        evening = (hour > 18).float()
        minutes = 3 + 2 * business + 4 * evening + 0.5 * zone + torch.randn(n)
        self.hour, self.zone, self.minutes = hour, zone, minutes

    def __len__(self):
        return len(self.minutes)

    def __getitem__(self, rows):
        return self.hour[rows], self.zone[rows], self.minutes[rows]


class CallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hour = nn.Embedding(24, 8)
        self.zone = nn.Embedding(6, 4)
        self.layers = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, hour, zone):
        return self.layers(torch.cat([self.hour(hour), self.zone(zone)], 1)).squeeze(1)


calls, test = Calls(5000), Calls(1000)
rows = BatchSampler(RandomSampler(calls), batch_size=100, drop_last=False)
loader = DataLoader(calls, sampler=rows, batch_size=None)
model = CallNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(12):
    total = 0.0
    for hour, zone, minutes in loader:
        loss = nn.functional.mse_loss(model(hour, zone), minutes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(minutes)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(calls):.4f}")
with torch.no_grad():
    hour, zone, minutes = test[list(range(len(test)))]
    error = nn.functional.mse_loss(model(hour, zone), minutes).item()
print(f"test error {error:.3f}; the noise alone is 1.0")
