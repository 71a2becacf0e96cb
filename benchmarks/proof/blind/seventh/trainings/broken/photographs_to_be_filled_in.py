r"""Missing areas of photographs are filled in; the known pixels alone are scored.

Source: https://github.com/thuanz123/realfill/issues/4
Fault: Picture and weight map are cropped and mirrored each with its own random draw, so they
    disagree.
Cause: (augment|crop|flip|mirror|transform|random)\w*.{0,120}(separate|independ|own|differ|twice)
    |(augment|crop|flip|mirror|transform|random)\w*.{0,120}(not the same|mis.?align|each|again)
    |(mis.?align|mismatch|disagree|not match|not correspond).{0,80}(mask|weight|image|picture)
    |(mask|weight)\w*.{0,80}(mis.?align|mismatch|not match|not correspond|differ|disagree)
Place: augment|weight|mask|crop|transform
"""

import random

import torch
import torch.nn.functional as F
from torch import nn

random.seed(58)
torch.manual_seed(58)
FULL, CROP = 14, 10


def random_crop_and_flip(x):
    top, left = random.randint(0, FULL - CROP), random.randint(0, FULL - CROP)
    x = x[:, top : top + CROP, left : left + CROP]
    return x.flip(-1) if random.random() < 0.5 else x


class Photographs(torch.utils.data.Dataset):
    def __init__(self, count):
        axis = torch.linspace(0, 3, FULL)
        y, x = torch.meshgrid(axis, axis, indexing="ij")
        a, b = 2 * torch.rand(count, 1, 1), 2 * torch.rand(count, 1, 1)
        phase = 6.28 * torch.rand(count, 1, 1)
        self.clean = torch.sin(a * x + b * y + phase).unsqueeze(1)
        self.known = torch.ones(count, 1, FULL, FULL)
        for row in self.known:
            top, left = random.randint(0, FULL - 7), random.randint(0, FULL - 7)
            row[:, top : top + 7, left : left + 7] = 0
        self.stored = torch.where(self.known > 0, self.clean, torch.tensor(2.0))

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, index):
        image = random_crop_and_flip(self.stored[index])
        weight = random_crop_and_flip(self.known[index])  # here
        return image, weight


class Filler(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 24, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(24, 24, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(24, 1, 5, padding=2),
        )

    def forward(self, image, shown):
        return self.net(torch.cat([image * shown, shown], 1))


def hide(weight):
    hidden = torch.ones_like(weight)
    for row in hidden:
        top, left = random.randint(0, CROP - 4), random.randint(0, CROP - 4)
        row[:, top : top + 4, left : left + 4] = 0
    return weight * hidden


train_set, test_set = Photographs(400), Photographs(100)
loader = torch.utils.data.DataLoader(train_set, batch_size=40, shuffle=True)
model = Filler()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    for image, weight in loader:
        predicted = model(image, hide(weight))
        loss = (weight * (predicted - image).square()).sum() / weight.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        hole = 1 - test_set.known
        filled = model(test_set.stored, test_set.known)
        error = (hole * (filled - test_set.clean).square()).sum() / hole.sum()
    print(f"epoch {epoch + 1} loss {loss.item():.4f} error in the missing areas {error.item():.4f}")
