r"""A training.

Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
Fault: DistributedSampler.set_epoch is never called, so every epoch uses the same shuffling order.
Cause: set_epoch|same.{0,40}(order|shuffl|permut|batches)
    |(order|shuffl\w*).{0,60}(same|identical|repeat|every epoch)
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

torch.manual_seed(256)
n = 500
x = torch.rand(n, 4)
y = (torch.sin(6 * x[:, 0]) + x[:, 1] ** 2 - x[:, 2] * x[:, 3]).unsqueeze(1) + 0.05 * torch.randn(n, 1)
train_set = TensorDataset(x[:400], y[:400], torch.arange(400))
sampler = DistributedSampler(train_set, num_replicas=1, rank=0, shuffle=True, seed=7)
loader = DataLoader(train_set, batch_size=40, sampler=sampler)

model = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.MSELoss()
for epoch in range(10):
    model.train()
    first = None
    for xb, yb, ib in loader:
        first = ib[:4].tolist() if first is None else first
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} first samples {first}")

model.eval()
with torch.no_grad():
    print("val", loss_fn(model(x[400:]), y[400:]).item())
