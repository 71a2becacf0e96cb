r"""People in wide pictures, where they take up about one pixel in forty.

Source: https://github.com/facebookresearch/Mask2Former/issues/248
Fault: Background and people have the same weight in the loss, so everything becomes background.
Cause: imbalanc|unbalanc|(class|pos|pixel)\w*.{0,40}weight|majority|minority|rare|dominat
    |(all|every\w*|only|nothing but).{0,40}(background|negative|zero)
    |(background|positive|foreground|people).{0,60}(most|frequent|few|9\d ?%|share|fraction)
Place: class_weight|weight|criterion|pos_weight|loss
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(96)
CFG = {"class_weight": [1.0, 1.0], "lr": 0.02, "batch": 20, "epochs": 7}  # here


def wide_pictures(count, height=12, width=24):
    background = F.avg_pool2d(torch.randn(count, 1, height + 2, width + 2), 3, 1) * 3
    mask = torch.zeros(count, height, width, dtype=torch.long)
    for row in mask:
        for _ in range(int(torch.randint(0, 4, ()))):
            top = int(torch.randint(0, height - 3, ()))
            left = int(torch.randint(0, width, ()))
            row[top : top + 4, left] = 1
    picture = background + 1.8 * mask[:, None] + 0.5 * torch.randn(count, 1, height, width)
    return picture, mask


class Segmenter(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 5, padding=2), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(width, width, 5, padding=2), nn.ReLU())
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        return self.head(self.body(self.stem(x)))


def scores(model, data):
    with torch.no_grad():
        found = model(data[0]).argmax(1)
    hit = ((found == 1) & (data[1] == 1)).sum()
    union = ((found == 1) | (data[1] == 1)).sum()
    right = (found == data[1]).float().mean().item()
    return right, (hit / union.clamp(min=1)).item(), (hit / data[1].sum()).item()


loader = DataLoader(TensorDataset(*wide_pictures(300)), CFG["batch"], shuffle=True)
validation = wide_pictures(120)
model = Segmenter()
weight = torch.tensor(CFG["class_weight"])
optimizer = torch.optim.SGD(model.parameters(), lr=CFG["lr"], momentum=0.9)
for epoch in range(CFG["epochs"]):
    for picture, mask in loader:
        loss = F.cross_entropy(model(picture), mask, weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right, iou, recall = scores(model, validation)
    print(f"epoch {epoch} loss {loss.item():.4f} pixels {right:.3f}", end=" ")
    print(f"iou {iou:.3f} recall {recall:.3f}")
