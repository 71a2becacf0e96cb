r"""A training of `Stream`.

Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

torch.manual_seed(172)
w = torch.tensor([1.5, -2.0, 0.7, 0.0])
feats = torch.randn(480, 4)
resp = feats @ w + 0.1 * torch.randn(480)


class Stream(IterableDataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __iter__(self):
        info = get_worker_info()
        first, stride = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, len(self.x), stride):
            yield self.x[i], self.y[i]


loader = DataLoader(Stream(feats, resp), batch_size=32, num_workers=2)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    seen, total = 0, 0.0
    for xb, yb in loader:
        loss = nn.functional.mse_loss(model(xb).squeeze(1), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen += len(xb)
        total += loss.item() * len(xb)
    print(f"epoch {epoch} samples {seen} mse {total / seen:.4f}")
