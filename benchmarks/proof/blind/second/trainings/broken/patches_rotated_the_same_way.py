r"""Trains on few patches with noise, flips and shifts as augmentation.

Source: https://github.com/wolny/pytorch-3dunet/issues/32
    https://github.com/xingyizhou/CenterNet/issues/233
Fault: the transformer makes its random state from a fixed seed each time an item is read, so every
    epoch sees exactly the same patches and the augmentation adds nothing.
Cause: \bseed|random.?state|same (augment|noise|transform|random|patch|sample|data)|identical|not
    random
Place: Transformer\(|RandomState|\brng\b|__getitem__
"""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(3)
GLOBAL_RANDOM_STATE = 47
base = np.random.default_rng(1)
CENTRES = base.normal(size=(3, 10, 10)).astype(np.float32)


class Transformer:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, patch):
        if self.rng.random() < 0.5:
            patch = patch[:, ::-1]
        patch = np.roll(patch, self.rng.integers(-2, 3), 0)
        return patch + self.rng.normal(0, 1.0, patch.shape)


class PatchDataset(Dataset):
    def __init__(self, count=24):
        self.labels = np.arange(count) % 3
        noise = base.normal(0, 1.2, (count, 10, 10))
        self.raws = CENTRES[self.labels] + noise

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        transform = Transformer(seed=GLOBAL_RANDOM_STATE + index)  # here
        patch = transform(self.raws[index])
        return torch.tensor(patch.copy(), dtype=torch.float32), int(self.labels[index])


loader = DataLoader(PatchDataset(), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Flatten(), nn.Linear(100, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
test_y = torch.arange(300) % 3
test_x = torch.from_numpy(CENTRES)[test_y] + 1.5 * torch.randn(300, 10, 10)
for epoch in range(15):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
    if epoch % 3 == 2:
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch} train loss {total:.4f} test accuracy {accuracy:.3f}")
