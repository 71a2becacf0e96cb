r"""Image training that is interrupted and resumed from its checkpoint.

Source: https://github.com/D-X-Y/NAS-Bench-201/issues/19
Fault: the checkpoint holds the net and the optimizer but not the learning rate scheduler, which
    starts at its first epoch after resuming, so the rate follows the wrong part of the cosine and
    is still high at the end.
Cause: schedul.{0,120}(not|never|n't|missing|without|lost|forgot|fresh|new|anew|scratch|restart
    |reset|begins?|starts?|from (0|zero|the (start|beginning)|its (start|first)))
    |(checkpoint|resum|restor|load|sav).{0,120}schedul
    |(learning rate|\blr\b).{0,100}(resum|restor|checkpoint|restart)
    |last_epoch
Place: scheduler|CosineAnnealingLR|save_checkpoint|checkpoint|resume
"""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def build_parser():
    parser = argparse.ArgumentParser("NAS cell")
    parser.add_argument('--epochs', type=int, default=16)
    parser.add_argument('--interrupt', type=int, default=-1, help='stop before this epoch')
    parser.add_argument('--batch_size', type=int, default=64)
    parser.add_argument('--learning_rate', type=float, default=0.2)
    parser.add_argument('--momentum', type=float, default=0.9)
    parser.add_argument('--weight_decay', type=float, default=5e-4)
    parser.add_argument('--init_channels', type=int, default=8)
    parser.add_argument('--save_path', type=str, default=None)
    parser.add_argument('--resume', type=str, default=None)
    parser.add_argument('--manualSeed', type=int, default=0)
    return parser


class AverageMeter(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = 0.0
        self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


class Cell(nn.Module):
    def __init__(self, C):
        super(Cell, self).__init__()
        self.op1 = nn.Sequential(nn.Conv2d(C, C, 3, padding=1, bias=False), nn.BatchNorm2d(C))
        self.op2 = nn.Sequential(nn.Conv2d(C, C, 1, bias=False), nn.BatchNorm2d(C))

    def forward(self, x):
        return F.relu(self.op1(x) + self.op2(x) + x)


class NetworkCIFAR(nn.Module):
    def __init__(self, C, num_classes):
        super(NetworkCIFAR, self).__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, C, 3, padding=1, bias=False), nn.BatchNorm2d(C))
        self.cell1 = Cell(C)
        self.reduce = nn.Conv2d(C, 2 * C, 3, stride=2, padding=1)
        self.cell2 = Cell(2 * C)
        self.classifier = nn.Linear(2 * C, num_classes)

    def forward(self, x):
        x = self.cell1(self.stem(x))
        x = self.cell2(F.relu(self.reduce(x)))
        return self.classifier(F.adaptive_avg_pool2d(x, 1).flatten(1))


def get_datasets():
    g = torch.Generator().manual_seed(5)
    protos = F.interpolate(torch.randn(10, 3, 6, 6, generator=g), size=12, mode='nearest')

    def make(n, flip):
        y = torch.randint(0, 10, (n,), generator=g)
        x = protos[y] + 1.6 * torch.randn(n, 3, 12, 12, generator=g)
        noisy = torch.rand(n, generator=g) < flip
        y = torch.where(noisy, torch.randint(0, 10, (n,), generator=g), y)
        return TensorDataset(x, y)

    return make(1200, 0.3), make(512, 0.0)


def save_checkpoint(state, filename):
    torch.save(state, filename)
    return filename


def train(loader, model, criterion, optimizer):
    losses, top1 = AverageMeter(), AverageMeter()
    model.train()
    for inputs, targets in loader:
        logits = model(inputs)
        loss = criterion(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.update(loss.item(), inputs.size(0))
        top1.update((logits.argmax(1) == targets).float().mean().item() * 100, inputs.size(0))
    return losses.avg, top1.avg


def valid(loader, model, criterion):
    losses, top1 = AverageMeter(), AverageMeter()
    model.eval()
    with torch.no_grad():
        for inputs, targets in loader:
            logits = model(inputs)
            losses.update(criterion(logits, targets).item(), inputs.size(0))
            acc = (logits.argmax(1) == targets).float().mean().item() * 100
            top1.update(acc, inputs.size(0))
    return losses.avg, top1.avg


def main(args):
    torch.manual_seed(args.manualSeed)
    train_data, valid_data = get_datasets()
    train_loader = DataLoader(train_data, batch_size=args.batch_size, shuffle=True)
    valid_loader = DataLoader(valid_data, batch_size=256, shuffle=False)
    model = NetworkCIFAR(args.init_channels, 10)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), args.learning_rate, momentum=args.momentum,
                                weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, float(args.epochs))
    checkpoint_path = os.path.join(args.save_path, 'checkpoint-cell.pth')

    start_epoch, best_acc = 0, 0.0
    if args.resume is not None:
        checkpoint = torch.load(args.resume)
        start_epoch = checkpoint['epoch']
        best_acc = checkpoint['best_acc']
        model.load_state_dict(checkpoint['state_dict'])
        optimizer.load_state_dict(checkpoint['optimizer'])
        print('=> loaded checkpoint {} (epoch {})'.format(args.resume, start_epoch))

    for epoch in range(start_epoch, args.epochs):
        if epoch == args.interrupt:
            print('interrupted before epoch {}'.format(epoch))
            return
        lr = optimizer.param_groups[0]['lr']
        train_loss, train_acc = train(train_loader, model, criterion, optimizer)
        valid_loss, valid_acc = valid(valid_loader, model, criterion)
        scheduler.step()
        best_acc = max(best_acc, valid_acc)
        print('==>>[Epoch={:03d}/{:03d}] lr={:.4f} train {:.3f} / {:.2f}  valid {:.3f} / {:.2f} '
              '[Best : {:.2f}]'.format(epoch, args.epochs, lr, train_loss, train_acc, valid_loss,
                                       valid_acc, best_acc))
        save_checkpoint({  # here
            'epoch': epoch + 1,
            'args': vars(args),
            'state_dict': model.state_dict(),
            'best_acc': best_acc,
            'optimizer': optimizer.state_dict(),
        }, checkpoint_path)
    print('finish, last lr = {:.5f}'.format(optimizer.param_groups[0]['lr']))


if __name__ == '__main__':
    folder = tempfile.mkdtemp()
    main(build_parser().parse_args(['--save_path', folder, '--interrupt', '7']))
    main(build_parser().parse_args(['--save_path', folder, '--resume',
                                    os.path.join(folder, 'checkpoint-cell.pth')]))
