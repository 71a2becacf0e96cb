r"""Siamese net that tells whether two small portraits show the same one of a few people.

Source: https://github.com/harveyslash/Facial-Similarity-with-Siamese-Networks-in-Pytorch/issues/38
Fault: The second portrait of a pair of "different" people is drawn from all portraits, so with few
    people a third of these pairs show the same person and are labelled as different.
Cause: (different|negative|second|random|pair|label).{0,120}(same (person|class|identity|folder
    |people|label)|may be|could be|mislabel|wrong label|without check|not check|no check
    |any (person|class|portrait)|all portraits)|(same (person|class|identity)|mislabel
    |wrong(ly)? label).{0,100}(different|negative|pair|dissimilar)|label noise
Place: __getitem__|img1|should_get_same_class|other|second|PairDataset|negative
"""

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(38)
random.seed(38)
PEOPLE, PORTRAITS = 3, 40
look = torch.randn(PEOPLE, 1, 10, 10)
IMGS = [
    (look[p] + 0.7 * torch.randn(1, 10, 10), p) for p in range(PEOPLE) for _ in range(PORTRAITS)
]


class PairDataset(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, index):
        img0, person0 = random.choice(IMGS)
        should_get_same_class = random.randint(0, 1)
        if should_get_same_class:
            while True:
                img1, person1 = random.choice(IMGS)
                if person0 == person1:
                    break
        else:
            img1, person1 = random.choice(IMGS)  # here
        return img0, img1, torch.tensor(1.0 - should_get_same_class)


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Sequential(nn.Linear(200, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, a, b):
        return tuple(self.fc(self.cnn(x).flatten(1)) for x in (a, b))


def contrastive(a, b, label, margin=2.0):
    distance = F.pairwise_distance(a, b)
    return ((1 - label) * distance**2 + label * (margin - distance).clamp(min=0) ** 2).mean()


net = SiameseNetwork()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
loader = DataLoader(PairDataset(), batch_size=48)
for epoch in range(12):
    losses = []
    for a, b, label in loader:
        loss = contrastive(*net(a, b), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 3 == 2:
        with torch.no_grad():
            fresh = look.repeat(30, 1, 1, 1) + 0.7 * torch.randn(90, 1, 10, 10)
            codes, _ = net(fresh, fresh)
            far = torch.cdist(codes, codes)
            same = (torch.arange(90)[:, None] - torch.arange(90)[None]) % PEOPLE == 0
            near, apart = far[same].mean().item(), far[~same].mean().item()
        mean = sum(losses) / len(losses)
        print(f"epoch {epoch + 1} loss {mean:.4f} same {near:.3f} different {apart:.3f}")
