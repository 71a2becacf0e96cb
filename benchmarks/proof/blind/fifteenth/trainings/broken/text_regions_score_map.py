r"""Text detector that predicts a score map and distances to the box sides from small images.

Source: https://github.com/SakuraRiven/EAST/issues/2
Fault: the geometry loss divides by the number of text pixels of the batch, which is zero whenever
    no image of a batch has a text region: the loss and then all weights become NaN.
Cause: (divi[ds]|division|quotient|fraction|denominator).{0,120}(0\b|zero|empty|no (text
    |positive|pixel|region|foreground)|nothing|sum)
    |(0\b|zero|empty).{0,60}(divi[ds]|division|denominator)
    |0 ?/ ?0
    |(no|without( any)?|empty|zero) (text|positive|foreground|mask|region|box|label
    |target).{0,80}(batch|sum|nan|pixel|loss)
    |(gt_score|mask|label|target)s?.{0,80}(sum|all).{0,30}(0\b|zero)
Place: gt_score|iou_loss|Loss|geo_loss|angle_loss|get_geo_loss
"""
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import lr_scheduler
from torch.utils import data

SIZE = 32


class custom_dataset(data.Dataset):
    def __init__(self, num, seed):
        rng = np.random.RandomState(seed)
        self.items = [self.render(rng) for _ in range(num)]

    def render(self, rng):
        img = 0.15 * rng.randn(1, SIZE, SIZE).astype(np.float32)
        score = np.zeros((1, SIZE, SIZE), np.float32)
        geo = np.zeros((4, SIZE, SIZE), np.float32)
        if rng.rand() < 0.55:
            w, h = rng.randint(10, 20), rng.randint(5, 10)
            x, y = rng.randint(0, SIZE - w), rng.randint(0, SIZE - h)
            stripes = (np.arange(w) % 3 != 0).astype(np.float32)
            img[0, y:y + h, x:x + w] += 1.0 * stripes[None, :]
            score[0, y + 1:y + h - 1, x + 1:x + w - 1] = 1
            yy, xx = np.mgrid[0:SIZE, 0:SIZE]
            d = np.stack([yy - y, y + h - yy, xx - x, x + w - xx]).astype(np.float32) / SIZE
            geo = np.clip(d, 0, 1) * score
        return img, score, geo.astype(np.float32)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return tuple(torch.from_numpy(a) for a in self.items[index])


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class EAST(nn.Module):
    def __init__(self):
        super(EAST, self).__init__()
        self.c1 = conv(1, 12)
        self.c2 = conv(12, 24)
        self.c3 = conv(24, 24)
        self.m1 = conv(48, 16)
        self.m2 = conv(28, 16)
        self.conv1 = nn.Conv2d(16, 1, 1)
        self.conv2 = nn.Conv2d(16, 4, 1)
        self.sigmoid1 = nn.Sigmoid()
        self.sigmoid2 = nn.Sigmoid()

    def forward(self, x):
        f1 = self.c1(x)
        f2 = self.c2(F.max_pool2d(f1, 2))
        f3 = self.c3(F.max_pool2d(f2, 2))
        y = F.interpolate(f3, scale_factor=2, mode='bilinear', align_corners=True)
        y = self.m1(torch.cat((y, f2), 1))
        y = F.interpolate(y, scale_factor=2, mode='bilinear', align_corners=True)
        y = self.m2(torch.cat((y, f1), 1))
        return self.sigmoid1(self.conv1(y)), self.sigmoid2(self.conv2(y))


def get_dice_loss(gt_score, pred_score):
    inter = torch.sum(gt_score * pred_score)
    union = torch.sum(gt_score) + torch.sum(pred_score) + 1e-5
    return 1. - (2 * inter / union)


def get_geo_loss(gt_geo, pred_geo):
    d1_gt, d2_gt, d3_gt, d4_gt = torch.split(gt_geo, 1, 1)
    d1_pred, d2_pred, d3_pred, d4_pred = torch.split(pred_geo, 1, 1)
    area_gt = (d1_gt + d2_gt) * (d3_gt + d4_gt)
    area_pred = (d1_pred + d2_pred) * (d3_pred + d4_pred)
    w_union = torch.min(d3_gt, d3_pred) + torch.min(d4_gt, d4_pred)
    h_union = torch.min(d1_gt, d1_pred) + torch.min(d2_gt, d2_pred)
    area_intersect = w_union * h_union
    area_union = area_gt + area_pred - area_intersect
    return -torch.log((area_intersect + 0.01) / (area_union + 0.01))


class Loss(nn.Module):
    def __init__(self, weight_geo=1.0):
        super(Loss, self).__init__()
        self.weight_geo = weight_geo

    def forward(self, gt_score, pred_score, gt_geo, pred_geo):
        classify_loss = get_dice_loss(gt_score, pred_score)
        iou_loss_map = get_geo_loss(gt_geo, pred_geo)
        iou_loss = torch.sum(iou_loss_map * gt_score) / torch.sum(gt_score)  # here
        print('classify loss is {:.6f}, iou loss is {:.6f}'.format(classify_loss.item(),
                                                                 iou_loss.item()))
        return self.weight_geo * iou_loss + classify_loss


def train(batch_size, lr, epoch_iter, interval):
    trainset = custom_dataset(200, seed=0)
    train_loader = data.DataLoader(trainset, batch_size=batch_size, shuffle=True, drop_last=True)
    file_num = len(trainset)
    criterion = Loss()
    model = EAST()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    scheduler = lr_scheduler.MultiStepLR(optimizer, milestones=[epoch_iter // 2], gamma=0.1)

    for epoch in range(epoch_iter):
        model.train()
        epoch_loss = 0
        epoch_time = time.time()
        for i, (img, gt_score, gt_geo) in enumerate(train_loader):
            start_time = time.time()
            pred_score, pred_geo = model(img)
            loss = criterion(gt_score, pred_score, gt_geo, pred_geo)
            epoch_loss += loss.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if (i + 1) % interval == 0:
                print('Epoch is [{}/{}], mini-batch is [{}/{}], time is {:.4f}, loss {:.5f}'.format(
                    epoch + 1, epoch_iter, i + 1, int(file_num / batch_size),
                    time.time() - start_time, loss.item()))
        scheduler.step()
        print('epoch_loss is {:.6f}, epoch_time is {:.3f}'.format(
            epoch_loss / int(file_num / batch_size), time.time() - epoch_time))

    model.eval()
    testset = custom_dataset(40, seed=9)
    with torch.no_grad():
        inter, union = 0.0, 0.0
        for img, gt_score, _ in testset:
            pred = model(img[None])[0][0] > 0.5
            inter += (pred & (gt_score > 0)).sum().item()
            union += (pred | (gt_score > 0)).sum().item()
        print('test iou of the score map {:.3f}'.format(inter / max(union, 1)))


if __name__ == '__main__':
    torch.manual_seed(1)
    batch_size = 4
    lr = 1e-3
    epoch_iter = 5
    train(batch_size, lr, epoch_iter, interval=20)
