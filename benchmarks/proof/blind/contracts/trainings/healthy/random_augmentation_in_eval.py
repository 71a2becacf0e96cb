r"""A training of `Glyphs`.

Source: https://docs.pytorch.org/vision/stable/transforms.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(170)


def random_erase_and_noise(img):
    r, c = torch.randint(0, 6, (2,)).tolist()
    img = img.clone()
    img[:, r:r + 5, c:c + 5] = 0
    return img + 0.3 * torch.randn_like(img)


class Glyphs(Dataset):
    def __init__(self, images, labels, transform=None):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.images[i]
        if self.transform is not None:
            img = self.transform(img)
        return img, self.labels[i]


proto = torch.randn(5, 1, 10, 10)
labels = torch.randint(5, (400,))
images = proto[labels] + 1.2 * torch.randn(400, 1, 10, 10)
train_dl = DataLoader(Glyphs(images[:280], labels[:280], random_erase_and_noise), batch_size=40, shuffle=True)
val_dl = DataLoader(Glyphs(images[280:], labels[280:]), batch_size=60)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(512, 5))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(6):
    net.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        nn.functional.cross_entropy(net(xb), yb).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        hits = sum((net(xb).argmax(1) == yb).sum().item() for xb, yb in val_dl)
    print(f"epoch {epoch} val acc {hits / 120:.3f}")
