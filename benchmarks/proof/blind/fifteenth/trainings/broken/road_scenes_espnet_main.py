r"""Segmentation of small street scenes; the best net by mIOU is kept in a file of its own.

Source: https://github.com/sacmehta/ESPNetv2/issues/8
Fault: best_val is never updated and stays 0, so every epoch counts as the best one and
    model_best.pth holds the last epoch instead of the best.
Cause: best_?val.{0,120}(never|not|n't|stays|remains|always|still|constant|0\b|zero|initial)
    |best (score|value|miou|metric|result).{0,120}(never|not|n't|stays|remains|always|still|constant
    |0\b|zero|initial)
    |(every|each|all|any) .{0,30}epochs?.{0,80}best
    |(best|kept|saved) .{0,60}(is|holds|has|are|equals?|with) .{0,40}(the )?(last|latest|final)
    |overwr.{0,80}(best|each|every)
Place: best_val|is_best|mIOU_val|model_best|save_checkpoint
"""
import os
import shutil
import tempfile
from argparse import ArgumentParser

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CLASSES = 4


class CBR(nn.Module):
    def __init__(self, i, o, stride=1, dilation=1):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, stride=stride, padding=dilation, dilation=dilation,
                              bias=False)
        self.bn = nn.BatchNorm2d(o)
        self.act = nn.PReLU(o)

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class ESPNetLite(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.level1 = CBR(3, 12, stride=2)
        self.level2 = CBR(12, 24, dilation=2)
        self.level3 = CBR(24, 24, dilation=1)
        self.project = nn.Conv2d(36, classes, 1)

    def forward(self, x):
        a = self.level1(x)
        b = self.level3(self.level2(a))
        out = self.project(torch.cat([a, b], 1))
        return F.interpolate(out, scale_factor=2, mode='bilinear', align_corners=True)


class iouEval:
    def __init__(self, nClasses):
        self.nClasses = nClasses
        self.hist = np.zeros((nClasses, nClasses))

    def addBatch(self, predict, gth):
        k = self.nClasses * gth.flatten() + predict.flatten()
        self.hist += np.bincount(k, minlength=self.nClasses ** 2).reshape(self.nClasses, -1)

    def getMetric(self):
        inter = np.diag(self.hist)
        union = self.hist.sum(1) + self.hist.sum(0) - inter
        per_class = inter / np.maximum(union, 1)
        return inter.sum() / self.hist.sum(), per_class, per_class.mean()


def scenes(n, seed, size=24):
    rng = np.random.RandomState(seed)
    colors = np.random.RandomState(0).rand(CLASSES, 3)
    x = np.zeros((n, 3, size, size), np.float32)
    y = np.zeros((n, size, size), np.int64)
    for i in range(n):
        h = rng.randint(8, 16)
        y[i, h:] = 1
        for _ in range(2):
            w, r, c = rng.randint(3, 7), rng.randint(0, size - 7), rng.randint(0, size - 7)
            y[i, r:r + w, c:c + w] = rng.randint(2, CLASSES)
        x[i] = colors[y[i]].transpose(2, 0, 1) + 0.35 * rng.randn(3, size, size)
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y))


def train(args, train_loader, model, criterion, optimizer, epoch):
    model.train()
    iouEvalTrain = iouEval(args.classes)
    epoch_loss = []
    for i, (inputs, target) in enumerate(train_loader):
        output = model(inputs)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss.append(loss.item())
        iouEvalTrain.addBatch(output.max(1)[1].numpy(), target.numpy())
    overall_acc, per_class_iu, mIOU = iouEvalTrain.getMetric()
    return sum(epoch_loss) / len(epoch_loss), overall_acc, per_class_iu, mIOU


@torch.no_grad()
def val(args, val_loader, model, criterion):
    model.eval()
    iouEvalVal = iouEval(args.classes)
    epoch_loss = []
    for i, (inputs, target) in enumerate(val_loader):
        output = model(inputs)
        epoch_loss.append(criterion(output, target).item())
        iouEvalVal.addBatch(output.max(1)[1].numpy(), target.numpy())
    overall_acc, per_class_iu, mIOU = iouEvalVal.getMetric()
    return sum(epoch_loss) / len(epoch_loss), overall_acc, per_class_iu, mIOU


def save_checkpoint(state, is_best, dir):
    filename = os.path.join(dir, 'checkpoint.pth.tar')
    torch.save(state, filename)
    if is_best:
        shutil.copyfile(filename, os.path.join(dir, 'model_best.pth'))


def trainValidateSegmentation(args):
    torch.manual_seed(args.seed)
    model = ESPNetLite(args.classes)
    train_loader = DataLoader(scenes(48, 1), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(scenes(48, 2), batch_size=16, shuffle=False)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), args.lr, (0.9, 0.999), eps=1e-08,
                                 weight_decay=5e-4)
    print('Number of network parameters: %d' % sum(p.numel() for p in model.parameters()))
    start_epoch = 0
    best_val = 0
    history = []
    for epoch in range(start_epoch, args.max_epochs):
        lossTr, acc_tr, _, mIOU_tr = train(args, train_loader, model, criterion, optimizer, epoch)
        lossVal, acc_val, _, mIOU_val = val(args, val_loader, model, criterion)
        history.append(mIOU_val)

        is_best = mIOU_val > best_val  # here
        save_checkpoint({
            'epoch': epoch + 1,
            'arch': str(model),
            'state_dict': model.state_dict(),
            'optimizer': optimizer.state_dict(),
            'lossTr': lossTr,
            'lossVal': lossVal,
            'iouTr': mIOU_tr,
            'iouVal': mIOU_val,
        }, is_best, args.savedir)
        print("Epoch : %d Details" % epoch)
        print("Epoch No.: %d\tTrain Loss = %.4f\t Val Loss = %.4f\t mIOU(tr) = %.4f\t "
              "mIOU(val) = %.4f" % (epoch, lossTr, lossVal, mIOU_tr, mIOU_val))

    best = torch.load(os.path.join(args.savedir, 'model_best.pth'), weights_only=False)
    model.load_state_dict(best['state_dict'])
    _, _, _, mIOU = val(args, val_loader, model, criterion)
    print('model_best: epoch %d, mIOU %.4f (highest of all epochs %.4f)' % (
        best['epoch'], mIOU, max(history)))


if __name__ == '__main__':
    parser = ArgumentParser()
    parser.add_argument('--max_epochs', type=int, default=30)
    parser.add_argument('--batch_size', type=int, default=8)
    parser.add_argument('--lr', type=float, default=2e-2)
    parser.add_argument('--classes', type=int, default=CLASSES)
    parser.add_argument('--savedir', default=tempfile.mkdtemp())
    parser.add_argument('--seed', type=int, default=0)
    trainValidateSegmentation(parser.parse_args())
