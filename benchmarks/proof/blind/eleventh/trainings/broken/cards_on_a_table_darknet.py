r"""A one-anchor YOLO on scenes with one card: build_targets, compute_loss, detection and mAP.

Source: https://github.com/ultralytics/yolov3/issues/202
Fault: in the loss a sigmoid is put on the predicted width and height, but the targets are
    logarithms and the detection takes exp() of the raw output; the boxes have a wrong size and mAP
    stays low.
Cause: sigmoid\b.*(w\b|h\b|wh|width|height|size|log|exp|raw|box)
    |(w\b|h\b|wh|width|height|size)\w*\b.*(sigmoid|squash\w*|different(ly)?|not the same
    |inconsistent|mismatch|negative)
    |(loss|train\w*)\b.*(decod\w+|detect\w*|inference|exp)\b.*(differ\w*|mismatch|inconsistent
    |not (match|agree|the same)|another)
    |(negative (targets?|values?)|log\w* targets?)\b.*(never|cannot|not|out of)
Place: compute_loss|sigmoid|w|h|lw|lh|lwh|pred|pw
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

NG = 6          # grid cells
STRIDE = 6
ANCHOR = (10.0, 10.0)
IMG = NG * STRIDE
CLASSES = ['nine', 'jack', 'ace']


class Cards(Dataset):
    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.items = []
        for _ in range(n):
            img = rng.normal(0, 0.15, (3, IMG, IMG)).astype(np.float32)
            w, h = rng.uniform(5, 15, 2)
            cx = rng.uniform(w / 2, IMG - w / 2)
            cy = rng.uniform(h / 2, IMG - h / 2)
            c = rng.randint(3)
            y0, y1 = int(round(cy - h / 2)), int(round(cy + h / 2))
            x0, x1 = int(round(cx - w / 2)), int(round(cx + w / 2))
            img[c, y0:y1, x0:x1] += 1.0
            self.items.append((img, np.array([c, cx, cy, w, h], np.float32)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class YOLOLayer(nn.Module):
    def forward(self, p):
        # decode: xywh in pixels
        gy, gx = torch.meshgrid(torch.arange(NG), torch.arange(NG), indexing='ij')
        x = (torch.sigmoid(p[..., 0]) + gx) * STRIDE
        y = (torch.sigmoid(p[..., 1]) + gy) * STRIDE
        w = torch.exp(p[..., 2]) * ANCHOR[0]
        h = torch.exp(p[..., 3]) * ANCHOR[1]
        conf = torch.sigmoid(p[..., 4])
        cls = torch.softmax(p[..., 5:], -1)
        return torch.cat([torch.stack([x, y, w, h, conf], -1), cls], -1)


class Darknet(nn.Module):
    def __init__(self, ch=24):
        super().__init__()

        def block(i, o, s):
            return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o),
                                 nn.LeakyReLU(0.1))
        self.body = nn.Sequential(block(3, ch, 2), block(ch, ch, 1), block(ch, 2 * ch, 3),
                                  block(2 * ch, 2 * ch, 1), block(2 * ch, 2 * ch, 1))
        self.head = nn.Conv2d(2 * ch, 5 + len(CLASSES), 1)
        self.yolo = YOLOLayer()

    def forward(self, x):
        p = self.head(self.body(x)).permute(0, 2, 3, 1)
        return p if self.training else self.yolo(p)


def build_targets(labels):
    c, cx, cy, w, h = labels.t()
    gi, gj = (cx / STRIDE).long().clamp(max=NG - 1), (cy / STRIDE).long().clamp(max=NG - 1)
    txy = torch.stack([cx / STRIDE - gi, cy / STRIDE - gj], 1)
    twh = torch.stack([torch.log(w / ANCHOR[0]), torch.log(h / ANCHOR[1])], 1)
    tconf = torch.zeros(len(labels), NG, NG)
    tconf[torch.arange(len(labels)), gj, gi] = 1
    return txy, twh, c.long(), tconf, gi, gj


def compute_loss(p, labels):
    MSE, CE = nn.MSELoss(), nn.CrossEntropyLoss()
    BCE = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(4.0))
    txy, twh, tcls, tconf, gi, gj = build_targets(labels)
    pi = p[torch.arange(len(labels)), gj, gi]
    lxy = 4.0 * MSE(torch.sigmoid(pi[:, 0:2]), txy)
    lwh = 4.0 * MSE(torch.sigmoid(pi[:, 2:4]), twh)  # here
    lcls = CE(pi[:, 5:], tcls)
    lconf = 4.0 * BCE(p[..., 4], tconf)
    return lxy + lwh + lcls + lconf, [lxy.item(), lwh.item(), lconf.item(), lcls.item()]


def box_iou(a, b):
    iw = (torch.min(a[0] + a[2] / 2, b[0] + b[2] / 2)
          - torch.max(a[0] - a[2] / 2, b[0] - b[2] / 2)).clamp(min=0)
    ih = (torch.min(a[1] + a[3] / 2, b[1] + b[3] / 2)
          - torch.max(a[1] - a[3] / 2, b[1] - b[3] / 2)).clamp(min=0)
    inter = iw * ih
    return inter / (a[2] * a[3] + b[2] * b[3] - inter)


def test(model, loader, iou_thres=0.6):
    model.eval()
    hits = {c: [0, 0] for c in range(len(CLASSES))}
    with torch.no_grad():
        for imgs, labels in loader:
            out = model(imgs).flatten(1, 2)
            best = out[torch.arange(len(out)), out[..., 4].argmax(1)]
            for d, l in zip(best, labels):
                c = int(l[0])
                hits[c][1] += 1
                hits[c][0] += int(d[5:].argmax() == c and box_iou(d[:4], l[1:]) > iou_thres)
    ap = [h / max(n, 1) for h, n in hits.values()]
    for name, a in zip(CLASSES, ap):
        print('%20s %10.3g' % (name, a))
    return float(np.mean(ap))


def train(opt):
    torch.manual_seed(0)
    loader = DataLoader(Cards(480, 0), batch_size=opt.batch_size, shuffle=True)
    test_loader = DataLoader(Cards(120, 1), batch_size=60)
    model = Darknet()
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr)
    for epoch in range(opt.epochs):
        model.train()
        mloss = np.zeros(4)
        for imgs, labels in loader:
            loss, items = compute_loss(model(imgs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mloss += np.array(items) / len(loader)
        print('epoch %d xy %.3f wh %.3f conf %.3f cls %.3f' % ((epoch,) + tuple(mloss)))
    print('mAP %.3f' % test(model, test_loader))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=8)
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--lr', type=float, default=3e-3)
    train(parser.parse_args())
