r"""A training of `Patches`.

Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.Subset
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

torch.manual_seed(168)


class Patches(Dataset):
    def __init__(self, x, y, transform=None):
        self.x, self.y, self.transform = x, y, transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        img = self.x[i]
        return (self.transform(img) if self.transform else img), self.y[i]


def augment(img):
    img = img.roll(int(torch.randint(-2, 3, (1,))), 1)
    return img + 0.2 * torch.randn_like(img)


proto = torch.randn(3, 8, 8)
y = torch.randint(3, (240,))
x = torch.stack([proto[k].roll(int(torch.randint(-2, 3, (1,))), 1) for k in y]) + 0.8 * torch.randn(240, 8, 8)
full = Patches(x, y, augment)
train_set = Subset(full, range(0, 120))
val_set = Subset(Patches(x, y), range(120, 240))
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    for xb, yb in DataLoader(train_set, batch_size=24, shuffle=True):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    hits = sum((model(a).argmax(1) == b).sum().item() for a, b in DataLoader(val_set, batch_size=60))
print("train loss", loss.item(), "val acc", hits / 120)
