r"""An event-camera classifier: an archive with training and testing parts, a Loader and a grid net.

Source: https://github.com/uzh-rpg/rpg_event_representation_learning/issues/2
Fault: every dataset numbers its classes in the order in which its own part of the archive lists
    them; the two parts list them differently, so the labels of training and testing do not agree.
Cause: (class\w*|label\w*|index|indices|mapping|number\w*|names?)\b.*(order\w*|sort\w*
    |inconsisten\w+|mismatch\w*|differ\w*|not (agree|match|the same)|disagree|permut\w+
    |each (set|split)|own)
    |(order|listing|listdir|keys)\b.*(class|label|split|train|test|sort)
    |(train\w*|test\w*)\b.*(label|class)\w*\b.*(differ\w*|mismatch|inconsistent|not match
    |disagree|permut)
    |(unsorted|sorted|sort)\b
Place: classes|sorted|list|NCaltech|labels|root
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(777)

H, W = 16, 16


def record(kind, rng, n=220):
    """events (x, y, t, p) of a shape that moves"""
    t = np.sort(rng.rand(n))
    phi = rng.rand(n) * 2 * np.pi
    cx, cy = rng.uniform(6, 10, 2)
    if kind == 'circle':
        x, y = cx + 4 * np.cos(phi), cy + 4 * np.sin(phi)
    elif kind == 'bar':
        x, y = cx + rng.uniform(-5, 5, n), cy + rng.normal(0, 0.5, n)
    elif kind == 'pole':
        x, y = cx + rng.normal(0, 0.5, n), cy + rng.uniform(-5, 5, n)
    elif kind == 'cross':
        s = rng.uniform(-5, 5, n)
        flip = rng.rand(n) < 0.5
        x, y = cx + s, cy + np.where(flip, s, -s)
    else:
        x, y = cx + rng.normal(0, 1, n), cy + rng.normal(0, 1, n)
    x = x + 2 * t
    p = np.where(rng.rand(n) < 0.5, -1, 1)
    return np.stack([np.clip(x, 0, W - 1), np.clip(y, 0, H - 1), t, p], 1).astype(np.float32)


def make_archive(seed=3):
    rng = np.random.RandomState(seed)
    archive = {}
    # recorded on different days
    for part, days, per_class in (('training', ['cross', 'bar', 'blob', 'circle', 'pole'], 90),
                                  ('testing', ['blob', 'circle', 'pole', 'cross', 'bar'], 24)):
        archive[part] = {}
        for kind in days:
            archive[part][kind] = [record(kind, rng) for _ in range(per_class)]
    return archive


class NCaltech:
    def __init__(self, root, augmentation=False):
        self.classes = list(root)  # here

        self.files = []
        self.labels = []
        self.augmentation = augmentation
        for i, c in enumerate(self.classes):
            self.files += root[c]
            self.labels += [i] * len(root[c])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        label = self.labels[idx]
        events = self.files[idx].copy()
        if self.augmentation:
            shift = np.random.randint(-1, 2, 2)
            events[:, 0] = np.clip(events[:, 0] + shift[0], 0, W - 1)
            events[:, 1] = np.clip(events[:, 1] + shift[1], 0, H - 1)
        return events, label


def collate_events(data):
    labels, events = [], []
    for i, d in enumerate(data):
        labels.append(d[1])
        events.append(np.concatenate([d[0], i * np.ones((len(d[0]), 1), dtype=np.float32)], 1))
    return torch.from_numpy(np.concatenate(events, 0)), torch.tensor(labels)


class QuantizationLayer(nn.Module):
    def __init__(self, bins=3):
        super().__init__()
        self.bins = bins

    def forward(self, events):
        x, y, t, p, b = events.t()
        B = int(b[-1].item() + 1)
        vox = events.new_zeros(B * 2 * self.bins * H * W)
        c = (t * self.bins).long().clamp(max=self.bins - 1)
        pol = ((p + 1) / 2).long()
        idx = (((b.long() * 2 + pol) * self.bins + c) * H + y.long()) * W + x.long()
        vox.index_add_(0, idx, torch.ones_like(x))
        return vox.view(B, 2 * self.bins, H, W)


class Classifier(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.quantization_layer = QuantizationLayer()
        self.conv = nn.Sequential(nn.Conv2d(6, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(24 * 16, num_classes)

    def forward(self, x):
        return self.fc(self.conv(self.quantization_layer(x)).flatten(1))


def cross_entropy_loss_and_accuracy(prediction, target):
    loss = F.cross_entropy(prediction, target)
    accuracy = (prediction.argmax(1) == target).float().mean()
    return loss, accuracy


def epoch_pass(model, loader, optimizer=None):
    model.train(optimizer is not None)
    sum_loss = sum_acc = 0.0
    for events, labels in loader:
        with torch.set_grad_enabled(optimizer is not None):
            loss, accuracy = cross_entropy_loss_and_accuracy(model(events), labels)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        sum_loss += loss.item()
        sum_acc += accuracy.item()
    return sum_loss / len(loader), sum_acc / len(loader)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--num_epochs', type=int, default=5)
    parser.add_argument('--batch_size', type=int, default=16)
    flags = parser.parse_args()
    np.random.seed(0)

    archive = make_archive()
    training_dataset = NCaltech(archive['training'], augmentation=True)
    validation_dataset = NCaltech(archive['testing'])
    training_loader = DataLoader(training_dataset, batch_size=flags.batch_size, shuffle=True,
                                 collate_fn=collate_events)
    validation_loader = DataLoader(validation_dataset, batch_size=24, collate_fn=collate_events)

    model = Classifier(len(training_dataset.classes))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for i in range(flags.num_epochs):
        l, a = epoch_pass(model, training_loader, optimizer)
        print(f"Training Iteration {i:5d}  Loss {l:.4f}  Accuracy {a:.4f}")
        l, a = epoch_pass(model, validation_loader)
        print(f"Validation Loss {l:.4f}  Accuracy {a:.4f}")
