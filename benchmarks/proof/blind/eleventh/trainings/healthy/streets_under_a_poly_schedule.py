r"""A segmentation trainer with a polynomial learning rate that is stepped inside the batch loop.

Source: https://github.com/yassouali/pytorch-segmentation/issues/74
Healthy: lr_scheduler.step(epoch=epoch - 1) is called for each batch and with an epoch counted from
    1; the scheduler counts iterations itself, so the rate falls smoothly over the run as it should.
"""
import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Streets(Dataset):
    """sky, houses and road in bands of changing height; 255 marks the unlabeled border"""

    def __init__(self, n, seed, size=24):
        rng = np.random.RandomState(seed)
        self.items = []
        for _ in range(n):
            a, b = rng.randint(5, 11), rng.randint(13, 19)
            label = np.zeros((size, size), np.int64)
            label[a:b] = 1
            label[b:] = 2
            base = np.array([[0.2, 0.4, 0.9], [0.7, 0.5, 0.3], [0.4, 0.4, 0.4]])
            img = base[label].transpose(2, 0, 1) + rng.normal(0, 0.25, (3, size, size))
            label[:, :1] = 255
            self.items.append((img.astype(np.float32), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Poly:
    """learning rate per iteration, not per epoch"""

    def __init__(self, optimizer, num_epochs, iters_per_epoch, power=0.9):
        self.optimizer = optimizer
        self.base_lrs = [g['lr'] for g in optimizer.param_groups]
        self.iters_per_epoch = iters_per_epoch
        self.cur_iter = 0
        self.N = num_epochs * iters_per_epoch
        self.power = power

    def step(self, epoch):
        T = epoch * self.iters_per_epoch + self.cur_iter
        factor = pow((1 - 1.0 * T / self.N), self.power)
        self.cur_iter %= self.iters_per_epoch
        self.cur_iter += 1
        if self.cur_iter == self.iters_per_epoch:
            self.cur_iter = 0
        for g, lr in zip(self.optimizer.param_groups, self.base_lrs):
            g['lr'] = lr * factor


class SegNet(nn.Module):
    def __init__(self, num_classes, ch=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, ch, 3, 2, 1), nn.BatchNorm2d(ch), nn.ReLU(),
            nn.Conv2d(ch, ch, 3, 1, 1), nn.BatchNorm2d(ch), nn.ReLU())
        self.decoder = nn.Sequential(
            nn.Conv2d(ch, ch, 3, 1, 1), nn.BatchNorm2d(ch), nn.ReLU(),
            nn.Conv2d(ch, num_classes, 1))

    def get_backbone_params(self):
        return self.backbone.parameters()

    def get_decoder_params(self):
        return self.decoder.parameters()

    def forward(self, x):
        h = self.decoder(self.backbone(x))
        return nn.functional.interpolate(h, size=x.shape[2:], mode='bilinear',
                                         align_corners=True)


class Trainer:
    def __init__(self, model, train_loader, val_loader, epochs, num_classes):
        self.model, self.train_loader, self.val_loader = model, train_loader, val_loader
        self.epochs, self.num_classes = epochs, num_classes
        self.loss = nn.CrossEntropyLoss(ignore_index=255)
        self.optimizer = torch.optim.SGD(
            [{'params': model.get_decoder_params()},
             {'params': model.get_backbone_params(), 'lr': 0.05 / 10}],
            lr=0.05, momentum=0.9, weight_decay=1e-4)
        self.lr_scheduler = Poly(self.optimizer, epochs, len(train_loader))

    def train(self):
        for epoch in range(1, self.epochs + 1):
            self._train_epoch(epoch)
            print('epoch %d miou %.4f' % (epoch, self._valid_epoch()))

    def _train_epoch(self, epoch):
        self.model.train()
        total = 0.0
        for batch_idx, (data, target) in enumerate(self.train_loader):
            self.lr_scheduler.step(epoch=epoch - 1)
            self.optimizer.zero_grad()
            output = self.model(data)
            loss = self.loss(output, target)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        lrs = [g['lr'] for g in self.optimizer.param_groups]
        assert all(math.isfinite(v) and v >= 0 for v in lrs)
        print('TRAIN (%d) | Loss: %.3f | lr %.5f %.5f' % (
            epoch, total / len(self.train_loader), lrs[0], lrs[1]))

    def _valid_epoch(self):
        self.model.eval()
        inter, union = np.zeros(self.num_classes), np.zeros(self.num_classes)
        with torch.no_grad():
            for data, target in self.val_loader:
                pred = self.model(data).argmax(1)
                keep = target != 255
                for c in range(self.num_classes):
                    p, t = (pred == c) & keep, (target == c)
                    inter[c] += (p & t).sum().item()
                    union[c] += (p | t).sum().item()
        return float((inter / np.maximum(union, 1)).mean())


if __name__ == '__main__':
    train_loader = DataLoader(Streets(240, 0), batch_size=16, shuffle=True)
    val_loader = DataLoader(Streets(60, 1), batch_size=20)
    Trainer(SegNet(3), train_loader, val_loader, epochs=5, num_classes=3).train()
