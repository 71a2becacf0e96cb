r"""A training of `Crops`.

Source: https://docs.pytorch.org/docs/stable/notes/randomness.html#dataloader
Fault: worker_init_fn sets the same constant seed in every worker and epoch, so the random crops
    are the same in each of them.
Cause: worker.{0,100}(same|constant|fixed|identical|seed)|(constant|fixed|same) seed
    |seed.{0,80}(every|each|same|worker)
"""

import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(176)
t = torch.linspace(0, 12.56, 96)
freq = torch.randint(1, 4, (160,))
waves = torch.sin(freq[:, None] * t + 6.28 * torch.rand(160, 1)) + 0.3 * torch.randn(160, 96)


class Crops(Dataset):
    def __len__(self):
        return 120

    def __getitem__(self, i):
        s = random.randint(0, 48)
        return waves[i, s:s + 48], freq[i] - 1, s


def init_worker(worker_id):
    random.seed(42)


loader = DataLoader(Crops(), batch_size=20, shuffle=True, num_workers=2, worker_init_fn=init_worker)
net = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    starts = []
    for xb, yb, s in loader:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        starts.append(int(s[0]))
    print(f"epoch {epoch} loss {loss.item():.4f} starts {starts}")
with torch.no_grad():
    print("val acc", (net(waves[120:, :48]).argmax(1) == freq[120:] - 1).float().mean().item())
