r"""A volume classifier that pools the features of slices, with train and validate and the best AUC
kept.

Source: https://github.com/bkong999/COVNet/issues/12
Fault: validate() is called with the training loader, so the printed metrics and the choice of the
    best epoch come from the training volumes; the validation set is never looked at.
Cause: (validat\w*|metric\w*|auc|best|evaluat\w*|select\w*|score\w*|checkpoint)\b.*\b(on|from
    |with|over
    |uses?|using|given|gets?|called|computed|measured|taken|sees?|of)\b.*(train(ing)? (set|data
    |samples
    |volumes|loader|examples)|train_loader|same (data|volumes|samples|loader)|trained on)
    |(train(ing)? (set|data|loader|samples|volumes)|train_loader)\b.*(validat\w*|metric|auc|best
    |evaluat\w*|score|again)
    |(val_loader|validation (set|loader|data))\b.*(never|unused|not (used|read|looked|touched
    |iterated))
    |(never|not)\b.*(val_loader|validation (set|loader|data)|held.?out)
Place: validate|val_loader|train_loader|evaluate|main
"""
import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Volumes(Dataset):
    def __init__(self, n, seed, slices=6, size=12):
        rng = np.random.RandomState(seed)
        self.items = []
        for i in range(n):
            label = int(rng.rand() < 0.5)
            vol = rng.normal(0, 1, (slices, 1, size, size)).astype(np.float32)
            if label:
                for s in rng.choice(slices, 2, replace=False):
                    r, c = rng.randint(0, size - 5, 2)
                    vol[s, 0, r:r + 5, c:c + 5] += 0.8
            self.items.append((vol, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        vol, label = self.items[i]
        return torch.from_numpy(vol), label


class COVNet(nn.Module):
    def __init__(self, n_classes):
        super(COVNet, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Linear(32 * 9, n_classes)

    def forward(self, inputs):
        b, s = inputs.shape[:2]
        h = self.features(inputs.flatten(0, 1)).flatten(1)
        pooled = h.view(b, s, -1).max(dim=1).values
        return self.classifier(pooled)


class AverageMeter(object):
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def auc_score(y, p):
    y, p = np.asarray(y), np.asarray(p)
    pos, neg = p[y == 1], p[y == 0]
    return float((pos[:, None] > neg[None, :]).mean())


def train(train_loader, model, criterion, optimizer, epoch):
    losses = AverageMeter()
    model.train()
    for images, labels in train_loader:
        logits = model(images)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.update(loss.item(), len(labels))
    print('Epoch [%d] train loss %.4f' % (epoch, losses.avg))


def validate(val_loader, model, criterion, epoch):
    losses = AverageMeter()
    ys, ps = [], []
    model.eval()
    with torch.no_grad():
        for images, labels in val_loader:
            logits = model(images)
            losses.update(criterion(logits, labels).item(), len(labels))
            ys += labels.tolist()
            ps += F.softmax(logits, dim=1)[:, 1].tolist()
    auc = auc_score(ys, ps)
    print('Epoch [%d] val loss %.4f auc %.4f' % (epoch, losses.avg, auc))
    return auc


def main(args):
    torch.manual_seed(args.seed)
    train_loader = DataLoader(Volumes(120, 0), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(Volumes(120, 1), batch_size=args.batch_size)

    model = COVNet(2)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    best = 0.0
    with tempfile.TemporaryDirectory() as savepath:
        for epoch in range(args.epochs):
            train(train_loader, model, criterion, optimizer, epoch)
            auc = validate(train_loader, model, criterion, epoch)  # here
            if auc > best:
                best = auc
                torch.save(model.state_dict(), os.path.join(savepath, 'best.pth'))
        model.load_state_dict(torch.load(os.path.join(savepath, 'best.pth')))
    print('best validation auc %.4f' % best)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--lr', type=float, default=2e-3)
    parser.add_argument('--epochs', type=int, default=9)
    parser.add_argument('--batch-size', type=int, default=12)
    parser.add_argument('--seed', type=int, default=0)
    main(parser.parse_args())
