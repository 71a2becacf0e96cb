r"""Distillation: a wide net learns twenty kinds, then a narrow one from few samples and its scores.

Source: https://github.com/AberHu/Knowledge-Distillation-Zoo/issues/12
Healthy: log_softmax is taken of the student and softmax of the teacher, which looks like a slip; it
    is what kl_div asks for, log-probabilities first and probabilities second.
"""
from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser(description="train kd")
parser.add_argument("--T", type=float, default=4.0, help="temperature for ST")
parser.add_argument("--lambda_kd", type=float, default=1.0, help="trade-off of the kd loss")
parser.add_argument("--epochs", type=int, default=25)
parser.add_argument("--batch_size", type=int, default=50)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--weight_decay", type=float, default=1e-4)
args = parser.parse_args()


class SoftTarget(nn.Module):
    """
    Distilling the Knowledge in a Neural Network
    """

    def __init__(self, T):
        super(SoftTarget, self).__init__()
        self.T = T

    def forward(self, out_s, out_t):
        loss = F.kl_div(F.log_softmax(out_s / self.T, dim=1),
                        F.softmax(out_t / self.T, dim=1),
                        reduction="batchmean") * self.T * self.T

        return loss


class AverageMeter(object):
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def accuracy(output, target):
    return (output.argmax(1) == target).float().mean().item() * 100


def define_net(width):
    return nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, 20))


def make_data(n, seed):
    g = torch.Generator().manual_seed(0)
    centers = 0.9 * torch.randn(40, 20, generator=g)
    g = torch.Generator().manual_seed(seed)
    c = torch.randint(40, (n,), generator=g)
    x = centers[c] + 0.75 * torch.randn(n, 20, generator=g)
    return x, c % 20


def train(train_set, nets, optimizer, criterionCls, criterionKD):
    cls_losses, kd_losses, top1 = AverageMeter(), AverageMeter(), AverageMeter()
    snet, tnet = nets["snet"], nets.get("tnet")
    snet.train()
    x, y = train_set
    for idx in torch.randperm(len(x)).split(args.batch_size):
        img, target = x[idx], y[idx]
        out_s = snet(img)
        cls_loss = criterionCls(out_s, target)
        loss = cls_loss
        if tnet is not None:
            with torch.no_grad():
                out_t = tnet(img)
            kd_loss = criterionKD(out_s, out_t.detach()) * args.lambda_kd
            loss = cls_loss + kd_loss
            kd_losses.update(kd_loss.item(), len(img))
        cls_losses.update(cls_loss.item(), len(img))
        top1.update(accuracy(out_s, target), len(img))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return cls_losses.avg, kd_losses.avg, top1.avg


def test(test_set, net):
    net.eval()
    with torch.no_grad():
        return accuracy(net(test_set[0]), test_set[1])


def fit(net, train_set, test_set, tnet=None, name="", epochs=25, lr=0.1):
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=args.momentum,
                                weight_decay=args.weight_decay, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    nets = {"snet": net}
    if tnet is not None:
        tnet.eval()
        for param in tnet.parameters():
            param.requires_grad = False
        nets["tnet"] = tnet
    for epoch in range(1, epochs + 1):
        cls, kd, top1 = train(train_set, nets, optimizer, nn.CrossEntropyLoss(),
                              SoftTarget(args.T))
        scheduler.step()
    acc = test(test_set, net)
    print("%-10s cls loss %.4f kd loss %.4f train %.2f test %.2f" % (name, cls, kd, top1, acc))
    return acc


if __name__ == "__main__":
    torch.manual_seed(2)
    many, few, test_set = make_data(8000, 1), make_data(600, 2), make_data(2000, 3)
    tnet = define_net(128)
    fit(tnet, many, test_set, name="teacher", epochs=8, lr=0.05)
    torch.manual_seed(3)
    alone = fit(define_net(24), few, test_set, name="alone", epochs=args.epochs, lr=0.05)
    torch.manual_seed(3)
    helped = fit(define_net(24), few, test_set, tnet=tnet, name="student", epochs=args.epochs,
                 lr=0.05)
    print("gain by the teacher: %.2f" % (helped - alone))
