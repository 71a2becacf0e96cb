r"""Forecast of many series with a fixed number of batches in an epoch.

Source: https://github.com/awslabs/gluonts/pull/787
Fault: Each epoch starts again at the first series, so only the first batches are ever used.
Cause: same (data|batch|sample|series|example|entries|item)
    |(each|every) epoch.{0,60}(start|again|same|first)
    |(only|first).{0,40}(part|batch|series|entries|sample|few)
    |repeat|unseen|never (seen|used)
Place: islice|TrainDataLoader|\bstream\b
"""

import itertools
import math

import torch
from torch import nn

torch.manual_seed(21)
series_count, length, context = 256, 36, 24


def make_series(item_id):
    period = 4 + 8 * item_id / series_count
    t = torch.arange(length) + 10 * torch.rand(1)
    return torch.sin(2 * math.pi * t / period) + 0.05 * torch.randn(length)


class ListDataset:
    def __init__(self, entries):
        self.entries = entries

    def __iter__(self):
        yield from self.entries


class TrainDataLoader:
    def __init__(self, dataset, batch_size, num_batches_per_epoch):
        self.dataset = dataset
        self.batch_size = batch_size
        self.num_batches_per_epoch = num_batches_per_epoch
        self.stream = itertools.cycle(dataset)

    def __iter__(self):
        stream = iter(self.dataset)  # here
        for _ in range(self.num_batches_per_epoch):
            yield torch.stack(list(itertools.islice(stream, self.batch_size)))


loader = TrainDataLoader(ListDataset([make_series(i) for i in range(series_count)]), 16, 4)
network = nn.Sequential(nn.Linear(context, 64), nn.ReLU(), nn.Linear(64, length - context))
trainer = torch.optim.Adam(network.parameters(), lr=3e-3)
for epoch in range(28):
    for batch in loader:
        past, future = batch[:, :context], batch[:, context:]
        loss = (network(past) - future).square().mean()
        trainer.zero_grad()
        loss.backward()
        trainer.step()
    if epoch % 7 == 6:
        print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    fresh = torch.stack([make_series(i) for i in range(series_count)])
    error = (network(fresh[:, :context]) - fresh[:, context:]).square().mean().item()
print(f"error over all series {error:.4f}")
