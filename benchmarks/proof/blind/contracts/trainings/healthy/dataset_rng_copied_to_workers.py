r"""A training of `NoisySignals`.

Source: https://docs.pytorch.org/docs/stable/notes/faq.html#my-data-loader-workers-return-identical-random-numbers
Healthy: the right twin of the broken case of this name.
"""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(174)
base = torch.randn(3, 16)
labels = torch.randint(3, (180,))
signals = base[labels] + 0.8 * torch.randn(180, 16)


class NoisySignals(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.rng = None

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        if self.rng is None:
            self.rng = np.random.default_rng(torch.initial_seed())
        noise = self.rng.normal(0.0, 0.4, size=16).astype("float32")
        return self.x[i] + torch.from_numpy(noise), self.y[i], float(noise[0])


loader = DataLoader(NoisySignals(signals[:120], labels[:120]), batch_size=20, shuffle=True, num_workers=2)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    firsts = []
    for xb, yb, nb in loader:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        firsts.append(round(nb[0].item(), 3))
    print(f"epoch {epoch} loss {loss.item():.4f} noise {firsts[:4]}")
with torch.no_grad():
    print("val acc", (model(signals[120:]).argmax(1) == labels[120:]).float().mean().item())
