r"""Distillation where the temperature is a small module trained against the student.

Source: https://github.com/zhengli97/CTKD/issues/4
Healthy: KLDivLoss gets log_softmax of the student and plain softmax of the teacher, which is what
    it expects; the loss is multiplied by the squared temperature, and the temperature is trained
    through a gradient reversal on purpose.
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset


class GradientReversalFunction(Function):
    @staticmethod
    def forward(ctx, x, lambda_):
        ctx.lambda_ = lambda_
        return x.clone()

    @staticmethod
    def backward(ctx, grads):
        return -ctx.lambda_ * grads, None


class Global_T(nn.Module):
    def __init__(self):
        super(Global_T, self).__init__()
        self.global_T = nn.Parameter(torch.ones(1))

    def forward(self, lambda_):
        t = GradientReversalFunction.apply(self.global_T, lambda_)
        return 1 + 10 * torch.sigmoid(t)


class CosineDecay(object):
    def __init__(self, max_value, min_value, num_loops):
        self._max_value = max_value
        self._min_value = min_value
        self._num_loops = num_loops

    def get_value(self, i):
        if i < 0:
            i = 0
        if i >= self._num_loops:
            i = self._num_loops
        value = (np.cos(i * np.pi / self._num_loops) + 1.0) * 0.5
        return value * (self._max_value - self._min_value) + self._min_value


class ConvNet(nn.Module):
    def __init__(self, width, num_classes=8):
        super(ConvNet, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2))
        self.classifier = nn.Linear(8 * width, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def kd_loss(y_s, y_t, T):
    p_s = F.log_softmax(y_s / T, dim=1)
    p_t = F.softmax(y_t / T, dim=1)
    return nn.KLDivLoss(reduction='batchmean')(p_s, p_t) * T.pow(2).mean()


def get_data(args):
    g = torch.Generator().manual_seed(31)
    protos = F.interpolate(torch.randn(8, 3, 4, 4, generator=g), size=12, mode='bilinear')

    def make(n):
        y = torch.randint(0, 8, (n,), generator=g)
        return TensorDataset(protos[y] + 1.0 * torch.randn(n, 3, 12, 12, generator=g), y)

    return (DataLoader(make(1000), batch_size=args.batch_size, shuffle=True),
            DataLoader(make(400), batch_size=200))


@torch.no_grad()
def validate(loader, model):
    model.eval()
    hits = [(model(x).argmax(1) == y).float().mean().item() for x, y in loader]
    return 100 * np.mean(hits)


def train_vanilla(loader, model, optimizer):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train_distill(epoch, loader, model_s, model_t, mlp, decay_value, optimizer, args):
    model_s.train()
    model_t.eval()
    losses = []
    for x, y in loader:
        logit_s = model_s(x)
        with torch.no_grad():
            logit_t = model_t(x)
        temp = mlp(decay_value)
        loss_cls = F.cross_entropy(logit_s, y)
        loss_div = kd_loss(logit_s, logit_t, temp)
        loss = args.gamma * loss_cls + args.alpha * loss_div
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append((loss_cls.item(), loss_div.item()))
    return np.mean(losses, axis=0), temp.item()


def main():
    parser = argparse.ArgumentParser('argument for training')
    parser.add_argument('--batch_size', type=int, default=50)
    parser.add_argument('--epochs', type=int, default=8)
    parser.add_argument('--learning_rate', type=float, default=0.05)
    parser.add_argument('-r', '--gamma', type=float, default=0.1)
    parser.add_argument('-a', '--alpha', type=float, default=0.9)
    parser.add_argument('--cosine_decay', type=int, default=1)
    parser.add_argument('--decay_max', type=float, default=0)
    parser.add_argument('--decay_min', type=float, default=-1)
    parser.add_argument('--decay_loops', type=float, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    train_loader, val_loader = get_data(args)

    model_t = ConvNet(16)
    opt_t = torch.optim.SGD(model_t.parameters(), lr=args.learning_rate, momentum=0.9)
    for _ in range(5):
        train_vanilla(train_loader, model_t, opt_t)
    for p in model_t.parameters():
        p.requires_grad = False
    print('teacher accuracy: %.2f' % validate(val_loader, model_t))

    model_s = ConvNet(4)
    mlp = Global_T()
    trainable = nn.ModuleList([model_s, mlp])
    optimizer = torch.optim.SGD(trainable.parameters(), lr=args.learning_rate, momentum=0.9,
                                weight_decay=5e-4)
    gradient_decay = CosineDecay(args.decay_max, args.decay_min, args.decay_loops)
    best_acc = 0
    for epoch in range(1, args.epochs + 1):
        decay_value = gradient_decay.get_value(epoch) if args.cosine_decay else 1
        (cls, div), temp = train_distill(epoch, train_loader, model_s, model_t, mlp,
                                         -decay_value, optimizer, args)
        acc = validate(val_loader, model_s)
        best_acc = max(best_acc, acc)
        print('epoch {} cls {:.4f} div {:.4f} temp {:.3f} test acc {:.2f}'.format(
            epoch, cls, div, temp, acc))
    print('best accuracy: %.2f' % best_acc)


if __name__ == '__main__':
    main()
