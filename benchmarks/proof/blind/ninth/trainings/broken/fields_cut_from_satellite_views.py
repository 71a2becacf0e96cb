r"""Fields in views from a satellite, with the share of the union as the measure.

Source: https://github.com/huggingface/evaluate/pull/692
Fault: The intersection is divided by the pixels of the label instead of the union, so the measure
    is the recall and marking too much costs nothing.
Cause: recall|sensitiv|union|(divid|denominator).{0,80}(label|gold|truth|target|union|predict
    |wrong)|false.positive|(too much|extra).{0,60}(not|never|ignor|nothing)
Place: union|mean_iou|iou|area_label|area_union|denominator|area_pred
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(271)
SIDE, CLASSES = 20, 3


def views(count):
    """0 is the ground between two kinds of fields."""
    noise = F.avg_pool2d(torch.randn(count, 2, SIDE, SIDE), 5, stride=1, padding=2)
    label = torch.zeros(count, SIDE, SIDE, dtype=torch.long)
    label[noise[:, 0] > 0.22] = 1
    label[noise[:, 1] > 0.3] = 2
    colour = torch.tensor([[0.0, 0.3], [0.8, 0.3], [0.3, 1.0]])[label].permute(0, 3, 1, 2)
    return colour + 0.5 * torch.randn(count, 2, SIDE, SIDE), label


def mean_iou(predicted, label):
    scores = []
    for number in range(CLASSES):
        pred, gold = predicted == number, label == number
        area_intersect = (pred & gold).sum()
        area_union = gold.sum()  # here
        scores.append(area_intersect / area_union)
    return torch.stack(scores)


net = nn.Sequential(
    nn.Conv2d(2, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, CLASSES, 1),
)
train_view, train_label = views(160)
val_view, val_label = views(60)
count = torch.bincount(train_label.flatten(), minlength=CLASSES).float()
criterion = nn.CrossEntropyLoss(weight=count.sum() / count / CLASSES)
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)

for epoch in range(10):
    net.train()
    running = 0.0
    for rows in torch.randperm(len(train_view)).split(16):
        loss = criterion(net(train_view[rows]), train_label[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 3 == 0:
        net.eval()
        with torch.no_grad():
            scores = mean_iou(net(val_view).argmax(1), val_label)
        each = " ".join(f"{score:.3f}" for score in scores.tolist())
        print(f"epoch {epoch + 1} loss {running / 10:.4f} mean IoU {scores.mean():.3f} ({each})")
