r"""Box of the one thing in a picture that a query asks for.

Source: https://github.com/stevebottos/owl-vit-object-detection/issues/14
Fault: The boxes are centre, width and height, but the generalised IoU takes them as two corners,
    so its value and gradient belong to other boxes.
Cause: (cxcywh|cent(er|re)|width.{0,20}height|format).{0,160}(xyxy|corner|convert|conversion
    |expect|format|giou|iou)|(giou|iou|generali).{0,120}(format|corner|xyxy|convert|cxcywh|cent(er
    |re)|conversion)|without.{0,30}convert
Place: giou|generalized_box_iou|boxes?|to_xyxy|box_loss|xyxy|cxcywh|pred|target
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(111)
SIDE, KINDS = 16, 3


def pictures(count):
    """Things of several colours; the box is (cx, cy, w, h) between 0 and 1."""
    image = 0.1 * torch.randn(count, KINDS, SIDE, SIDE)
    query = torch.randint(0, KINDS, (count,))
    box = torch.zeros(count, 4)
    for i in range(count):
        for number in [n for n in range(KINDS) if n != query[i]] + [query[i].item()]:
            w, h = (int(v) for v in torch.randint(3, 8, (2,)))
            x, y = (int(torch.randint(0, SIDE - s, (1,))) for s in (w, h))
            image[i, number, y : y + h, x : x + w] = 1.0
        box[i] = torch.tensor([x + w / 2, y + h / 2, w, h]) / SIDE
    return image, query, box


def generalized_box_iou(a, b):
    """Of the pairs of boxes (x1, y1, x2, y2)."""
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(1), (b[:, 2:] - b[:, :2]).prod(1)
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    inner = (high - low).clamp(min=0).prod(1)
    union = area_a + area_b - inner
    hull = (torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2])).prod(1)
    return inner / (union + 1e-6) - (hull - union) / (hull + 1e-6)


def to_xyxy(box):
    return torch.cat([box[:, :2] - box[:, 2:] / 2, box[:, :2] + box[:, 2:] / 2], 1)


class Asker(nn.Module):
    def __init__(self):
        super().__init__()
        self.vision = nn.Sequential(
            nn.Conv2d(KINDS, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.text = nn.Embedding(KINDS, 64)
        self.look = nn.Linear(1024, 64)
        self.box = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, image, query):
        return self.box(F.relu(self.look(self.vision(image)) + self.text(query))).sigmoid()


def box_loss(pred, target):
    l1 = F.l1_loss(pred, target)
    giou = 1 - generalized_box_iou(pred, target).mean()  # here
    return l1 + 2 * giou


image, query, box = pictures(500)
val_image, val_query, val_box = pictures(150)
model = Asker()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(16):
    running = 0.0
    for rows in torch.randperm(len(image)).split(50):
        loss = box_loss(model(image[rows], query[rows]), box[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 4 == 3:
        with torch.no_grad():
            found = to_xyxy(model(val_image, val_query))
            score = generalized_box_iou(found, to_xyxy(val_box)).mean().item()
        print(f"epoch {epoch + 1} loss {running / 10:.4f} validation GIoU {score:.3f}")
