r"""Parts of the cell that a protein is seen in, several at once, from pictures of four stains.

Source: https://github.com/Borda/kaggle_image-classify/pull/12
Fault: The table is shuffled after the labels were taken out of it, so the pictures and the labels
    no longer belong together.
Cause: shuffl|label\w*.{0,80}(order|align|match|belong|pair|mismatch|correspond|wrong (sample|image
    |row)|random)|(order|align|match|correspond|pair)\w*.{0,80}label|misalign|memori[sz]
Place: labels?|shuffle|table|data|raw_labels|img_names|rows
"""

import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(163)
random.seed(163)
PARTS, STAINS, SIZE = 8, 4, 10
patterns = torch.randn(PARTS, STAINS, SIZE, SIZE)


class Atlas:
    def __init__(self, count):
        self.table, self.pictures = [], {}
        for i in range(count):
            parts = sorted(random.sample(range(PARTS), random.randint(1, 2)))
            name = f"plate{i:04d}"
            self.table.append((name, " ".join(map(str, parts))))
            self.pictures[name] = patterns[parts].sum(0) + 1.5 * torch.randn(STAINS, SIZE, SIZE)


class IMetDataset(Dataset):
    def __init__(self, atlas, split=0.8, mode="train", seed=42):
        self.atlas = atlas
        rows = list(atlas.table)
        self.raw_labels = [labels for _, labels in rows]
        random.Random(seed).shuffle(rows)  # here
        self.img_names = [name for name, _ in rows]
        cut = int(split * len(rows))
        part = slice(0, cut) if mode == "train" else slice(cut, None)
        self.img_names, self.raw_labels = self.img_names[part], self.raw_labels[part]

    def __len__(self):
        return len(self.img_names)

    def __getitem__(self, idx):
        label = torch.zeros(PARTS)
        label[[int(k) for k in self.raw_labels[idx].split()]] = 1
        return self.atlas.pictures[self.img_names[idx]], label


class MultiLabelModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(STAINS, 32, 3)
        self.bn = nn.BatchNorm2d(32)
        self.fc = nn.Linear(32 * 64, PARTS)

    def forward(self, x):
        return self.fc(torch.relu(self.bn(self.conv(x))).flatten(1))


atlas = Atlas(1000)
train_loader = DataLoader(IMetDataset(atlas, mode="train"), batch_size=32, shuffle=True)
valid_loader = DataLoader(IMetDataset(atlas, mode="valid"), batch_size=200)
model = MultiLabelModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(5):
    model.train()
    losses = []
    for image, label in train_loader:
        loss = criterion(model(image), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        image, label = next(iter(valid_loader))
        scores = model(image)
        hits = ((scores > 0) & (label > 0)).sum()
        f1 = (2 * hits / ((scores > 0).sum() + label.sum())).item()
    valid = criterion(scores, label).item()
    print(f"epoch {epoch} train {sum(losses) / len(losses):.4f} valid {valid:.4f} F1 {f1:.3f}")
