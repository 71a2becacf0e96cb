r"""Kinds of goods at the places of a shelf; places without goods belong to the background.

Source: https://github.com/microsoft/computervision-recipes/pull/315
Fault: The kinds are numbered from zero, but zero is the number of the background, so the first
    kind is learned as background and never found.
Cause: background|(label|class|index|indices|categor)\w*.{0,60}(start|begin|zero|\b0\b|offset|shift
    |reserved|off.by.one|collid|numbered)|off.by.one|(first|zero)\w*.{0,30}(class|kind|label)
Place: label\w*|categor\w*|label_idx|labels_to_index|background|target
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(131)
LABELS = ["can", "carton", "milk_bottle", "water_bottle"]
label_to_idx = {label: i for i, label in enumerate(LABELS)}  # here
looks = {label: torch.randn(20) for label in LABELS}
PLACES = 6


class ShelfDataset:
    def __init__(self, count):
        self.images, self.targets = [], []
        for _ in range(count):
            places = torch.randperm(PLACES)[:3].tolist()
            image = 0.7 * torch.randn(PLACES, 20)
            boxes = []
            for place in places:
                label = LABELS[int(torch.randint(0, len(LABELS), ()))]
                image[place] += looks[label]
                boxes.append((place, label))
            self.images.append(image)
            self.targets.append(boxes)

    def batch(self, pick):
        images = torch.stack([self.images[i] for i in pick])
        target = torch.zeros(len(pick), PLACES, dtype=torch.long)
        for row, i in enumerate(pick):
            for place, label in self.targets[i]:
                target[row, place] = label_to_idx[label]
        return images, target


class RegionHead(nn.Module):
    def __init__(self, num_classes, hidden=48):
        super().__init__()
        self.fc6 = nn.Linear(20, hidden)
        self.fc7 = nn.Linear(hidden, hidden)
        self.cls_score = nn.Linear(hidden, num_classes)

    def forward(self, regions):
        return self.cls_score(F.relu(self.fc7(F.relu(self.fc6(regions)))))

    @torch.no_grad()
    def detect(self, images, thresh=0.4):
        score, idx = self(images).softmax(-1)[..., 1:].max(-1)
        return torch.where(score > thresh, idx + 1, 0)


def average_precision(detector, dataset):
    images, _ = dataset.batch(range(len(dataset.images)))
    found = detector.detect(images)
    rates = {}
    for label in LABELS:
        hits = [
            found[i, place].item() == label_to_idx[label] and label_to_idx[label] > 0
            for i, boxes in enumerate(dataset.targets)
            for place, true_label in boxes
            if true_label == label
        ]
        rates[label] = sum(hits) / len(hits)
    return rates


train_ds, test_ds = ShelfDataset(300), ShelfDataset(100)
detector = RegionHead(num_classes=len(LABELS) + 1)
optimizer = torch.optim.SGD(detector.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
for epoch in range(10):
    for pick in torch.randperm(300).split(10):
        images, target = train_ds.batch(pick.tolist())
        loss = F.cross_entropy(detector(images).flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(f"epoch {epoch} loss_classifier {loss.item():.4f}")
rates = average_precision(detector, test_ds)
print("found:", ", ".join(f"{label} {rate:.2f}" for label, rate in rates.items()))
