r"""Detector in the style of YOLOv3 on rendered signs: one grid, one box per cell, six kinds.

Source: https://github.com/eriklindernoren/PyTorch-YOLOv3/issues/112
Fault: the class scores go through a sigmoid before nn.CrossEntropyLoss, which takes raw scores;
    they are squeezed between 0 and 1, so the class loss can't get near zero.
Cause: sigmoid.{0,140}(cross.?entropy|log_?softmax|logits|raw|class (loss|scores?)|loss_cls
    |ce_loss)|(cross.?entropy|log_?softmax|logits|raw scores?|ce_loss).{0,140}(sigmoid|probabilit
    |between 0 and 1|squash|squeez)|(scores?|logits|input).{0,60}(between 0 and 1|0 to 1
    |bounded).{0,80}(cross.?entropy|softmax)|(input|scores?|outputs?).{0,60}(limited|restricted
    |bounded|confined|lie).{0,30}(0|zero).{0,20}(1|one)
Place: pred_cls|sigmoid|ce_loss|loss_cls|forward
"""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
np.random.seed(0)

IMG = 32
GRID = 4
NUM_CLASSES = 6


def draw(img, cls, cx, cy, w, h):
    x1, x2 = int(cx - w / 2), int(cx + w / 2)
    y1, y2 = int(cy - h / 2), int(cy + h / 2)
    x1, y1 = max(x1, 0), max(y1, 0)
    if cls == 0:
        img[y1:y2, x1:x2] = 1.0
    elif cls == 1:
        img[y1:y2, x1:x2] = 1.0
        img[y1 + 2:y2 - 2, x1 + 2:x2 - 2] = 0.0
    elif cls == 2:
        img[y1:y2:2, x1:x2] = 1.0
    elif cls == 3:
        img[y1:y2, x1:x2:2] = 1.0
    elif cls == 4:
        img[y1:y2, (x1 + x2) // 2 - 1:(x1 + x2) // 2 + 1] = 1.0
        img[(y1 + y2) // 2 - 1:(y1 + y2) // 2 + 1, x1:x2] = 1.0
    else:
        img[y1:y2:2, x1:x2:2] = 1.0


class SignDataset(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            img = np.zeros((IMG, IMG), dtype=np.float32)
            cls = np.random.randint(NUM_CLASSES)
            w, h = np.random.randint(8, 14, 2)
            cx, cy = np.random.uniform(7, IMG - 7, 2)
            draw(img, cls, cx, cy, w, h)
            img += 0.1 * np.random.randn(IMG, IMG).astype(np.float32)
            self.items.append((img[None], cls, cx / IMG, cy / IMG, w / IMG, h / IMG))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, cls, cx, cy, w, h = self.items[i]
        return torch.from_numpy(img), torch.tensor([cls, cx, cy, w, h], dtype=torch.float32)


class YOLOLayer(nn.Module):
    def __init__(self, num_classes, grid):
        super().__init__()
        self.num_classes = num_classes
        self.grid = grid
        self.mse_loss = nn.MSELoss()
        self.bce_loss = nn.BCELoss()
        self.ce_loss = nn.CrossEntropyLoss()
        self.stats = {}

    def forward(self, x, targets=None):
        nB, nG = x.size(0), self.grid
        prediction = x.permute(0, 2, 3, 1)

        px = torch.sigmoid(prediction[..., 0])
        py = torch.sigmoid(prediction[..., 1])
        pw = prediction[..., 2]
        ph = prediction[..., 3]
        pred_conf = torch.sigmoid(prediction[..., 4])
        pred_cls = torch.sigmoid(prediction[..., 5:])  # here

        if targets is None:
            return px, py, pw, ph, pred_conf, pred_cls

        tcls = targets[:, 0].long()
        gi = (targets[:, 1] * nG).long().clamp(max=nG - 1)
        gj = (targets[:, 2] * nG).long().clamp(max=nG - 1)
        b = torch.arange(nB)
        tconf = torch.zeros(nB, nG, nG)
        tconf[b, gj, gi] = 1
        loss_x = self.mse_loss(px[b, gj, gi], targets[:, 1] * nG - gi)
        loss_y = self.mse_loss(py[b, gj, gi], targets[:, 2] * nG - gj)
        loss_w = self.mse_loss(pw[b, gj, gi], torch.log(targets[:, 3] * nG))
        loss_h = self.mse_loss(ph[b, gj, gi], torch.log(targets[:, 4] * nG))
        loss_conf = self.bce_loss(pred_conf, tconf)
        loss_cls = self.ce_loss(pred_cls[b, gj, gi], tcls)
        loss = loss_x + loss_y + loss_w + loss_h + 5 * loss_conf + loss_cls
        self.stats = {"x": loss_x.item(), "w": loss_w.item(), "conf": loss_conf.item(),
                      "cls": loss_cls.item()}
        return loss


class Darknet(nn.Module):
    def __init__(self):
        super().__init__()
        chans = [1, 16, 32, 64]
        layers = []
        for a, b in zip(chans[:-1], chans[1:]):
            layers += [nn.Conv2d(a, b, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(b),
                       nn.LeakyReLU(0.1)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Conv2d(64, 5 + NUM_CLASSES, 1)
        self.yolo = YOLOLayer(NUM_CLASSES, GRID)

    def forward(self, x, targets=None):
        return self.yolo(self.head(self.features(x)), targets)


def evaluate(model, loader):
    model.eval()
    hits, total = 0, 0
    with torch.no_grad():
        for imgs, targets in loader:
            px, py, pw, ph, conf, cls = model(imgs)
            best = conf.flatten(1).argmax(1)
            b = torch.arange(len(imgs))
            labels = cls.flatten(1, 2)[b, best].argmax(1)
            gi, gj = best % GRID, best // GRID
            near = ((gi + px.flatten(1)[b, best]) / GRID - targets[:, 1]).abs() < 0.1
            hits += ((labels == targets[:, 0].long()) & near).sum().item()
            total += len(imgs)
    return hits / total


model = Darknet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
train_loader = DataLoader(SignDataset(1000), batch_size=32, shuffle=True)
test_loader = DataLoader(SignDataset(300), batch_size=100)

for epoch in range(10):
    model.train()
    for batch_i, (imgs, targets) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = model(imgs, targets)
        loss.backward()
        optimizer.step()
    print("[Epoch %d] [Losses: x %.4f, w %.4f, conf %.4f, cls %.4f, total %.4f] recall %.3f" % (
        epoch, model.yolo.stats["x"], model.yolo.stats["w"], model.yolo.stats["conf"],
        model.yolo.stats["cls"], loss.item(), evaluate(model, test_loader)))
