r"""Segmentation of nuclei with a data set class, a transform and a small network.

Source: https://github.com/4uiiurz1/pytorch-nested-unet/issues/62
Fault: The transform divides by 255 and the data set divides once more, so inputs are near zero.
Cause: 255|(input|pixel|image)\w* .*(scale|small|tiny|range|close to zero|near zero|normalis)
    |(scal|normalis|divid)\w* .*(twice|double|input|again)
Place: \bNucleiDataset\b|\b__getitem__\b
"""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def normalize(img, mean=0.4, std=0.25, max_pixel_value=255.0):
    return (img - mean * max_pixel_value) / (std * max_pixel_value)


class NucleiDataset(Dataset):
    def __init__(self, count, transform=None, size=16):
        rng = np.random.default_rng(0)
        rows, cols = np.mgrid[:size, :size]
        self.images, self.masks = [], []
        for _ in range(count):
            y, x = rng.uniform(3, size - 3, 2)
            mask = (rows - y) ** 2 + (cols - x) ** 2 < rng.uniform(4, 16)
            img = np.where(mask, 170, 90) + rng.normal(0, 35, mask.shape)
            self.images.append(img.clip(0, 255).astype(np.uint8))
            self.masks.append(mask)
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        img, mask = self.images[index].astype("float32"), self.masks[index]
        if self.transform is not None:
            img = self.transform(img)
        img = img.astype("float32") / 255  # here
        return torch.from_numpy(img)[None], torch.from_numpy(mask.astype("float32"))[None]


torch.manual_seed(0)
loader = DataLoader(NucleiDataset(160, normalize), batch_size=16, shuffle=True)
net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 1, 1),
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(6):
    total, inter, union = 0.0, 0.0, 0.0
    for image, mask in loader:
        logits = net(image)
        loss = criterion(logits, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        guess = (logits > 0).float()
        inter += (guess * mask).sum().item()
        union += (guess + mask).clamp(max=1).sum().item()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f} iou {inter / union:.4f}")
