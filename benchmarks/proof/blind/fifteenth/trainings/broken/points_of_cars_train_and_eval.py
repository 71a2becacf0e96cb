r"""Foreground points of rendered clouds classified by a small PointNet, epoch by epoch.

Source: https://github.com/sshaoshuai/Pointnet2.PyTorch/issues/28
Fault: eval_one_epoch() calls model.train(), so the test clouds go through active dropout and batch
    statistics and also move the running statistics of the batch norms.
Cause: (eval|test|\bval(?!ue)).{0,120}(train(ing)? mode|\.train\(|train\(\))
    |(train(ing)? mode|\.train\(|train\(\)).{0,120}(eval|test|\bval(?!ue))
    |(dropout|batch ?norm|\bbn\b).{0,120}(eval|test|\bval(?!ue))
    |(eval|test|\bval(?!ue)).{0,120}(dropout|batch ?norm|batch statistic|running)
    |(never|not|n.t|without).{0,40}(eval mode|\.eval\(|eval\(\)|evaluation mode)
Place: eval_one_epoch|model\.train|train|model|eval|Dropout|dropout|bn
"""
import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
import torch.optim.lr_scheduler as lr_sched
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser(description="Arg parser")
parser.add_argument("--batch_size", type=int, default=8)
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--ckpt_save_interval", type=int, default=6)
parser.add_argument("--output_dir", type=str, default=None)
parser.add_argument("--mode", type=str, default='train')
parser.add_argument('--lr', type=float, default=0.004)
parser.add_argument('--weight_decay', type=float, default=1e-4)
parser.add_argument('--npoints', type=int, default=128)
FG_THRESH = 0.5


class CloudDataset(Dataset):
    def __init__(self, num, npoints, split):
        rng = np.random.RandomState(0 if split == 'TRAIN' else 1)
        self.data = []
        for i in range(num):
            share = rng.uniform(0.1, 0.5) if split == 'TRAIN' else rng.uniform(0.02, 0.15)
            n_fg = max(3, int(npoints * share))
            ground = rng.uniform(-1, 1, (npoints - n_fg, 3))
            ground[:, 2] = -0.6 + 0.12 * rng.randn(npoints - n_fg)
            center = rng.uniform(-0.6, 0.6, 2)
            car = 0.13 * rng.randn(n_fg, 3)
            car[:, :2] += center
            car[:, 2] -= 0.25
            pts = np.concatenate([ground, car]).astype(np.float32)
            cls = np.concatenate([np.zeros(npoints - n_fg), np.ones(n_fg)]).astype(np.float32)
            perm = rng.permutation(npoints)
            self.data.append((pts[perm], cls[perm]))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        pts, cls = self.data[index]
        return {'pts_input': pts, 'cls_labels': cls}


class PointSeg(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp1 = nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(),
                                  nn.Conv1d(32, 48, 1), nn.BatchNorm1d(48), nn.ReLU())
        self.cls_layer = nn.Sequential(nn.Conv1d(96, 48, 1), nn.BatchNorm1d(48), nn.ReLU(),
                                       nn.Dropout(0.5), nn.Conv1d(48, 1, 1))

    def forward(self, pointcloud):
        x = self.mlp1(pointcloud.transpose(1, 2))
        g = x.max(dim=2, keepdim=True)[0].expand(-1, -1, x.size(2))
        return self.cls_layer(torch.cat((x, g), dim=1)).transpose(1, 2).contiguous()


class DiceLoss(nn.Module):
    def forward(self, input, target):
        prob = torch.sigmoid(input)
        inter = torch.min(prob, target).sum()
        return 1.0 - inter / torch.clamp(torch.max(prob, target).sum(), min=1.0)


def train_one_epoch(model, train_loader, optimizer, epoch, lr_scheduler, total_it):
    model.train()
    loss_func = DiceLoss()
    loss_sum = 0.0
    for it, batch in enumerate(train_loader):
        optimizer.zero_grad()
        pred_cls = model(batch['pts_input'])
        loss = loss_func(pred_cls.view(-1), batch['cls_labels'].view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total_it += 1
        loss_sum += loss.item()
    lr_scheduler.step()
    print('epoch %d: train loss %.4f' % (epoch, loss_sum / len(train_loader)))
    return total_it


def eval_one_epoch(model, eval_loader, epoch):
    model.train()  # here
    iou_list = []
    for it, batch in enumerate(eval_loader):
        with torch.no_grad():
            pred_cls = model(batch['pts_input'])
        cls_labels = batch['cls_labels'].view(-1)
        pred_class = (torch.sigmoid(pred_cls.view(-1)) > FG_THRESH)
        fg_mask = cls_labels > 0
        correct = ((pred_class.long() == cls_labels.long()) & fg_mask).float().sum()
        union = fg_mask.sum().float() + (pred_class > 0).sum().float() - correct
        iou_list.append((correct / torch.clamp(union, min=1.0)).item())
    avg_iou = float(np.mean(iou_list))
    print('EVAL: epoch %d mean iou %.4f' % (epoch, avg_iou))
    return avg_iou


def save_checkpoint(model, epoch, ckpt_name):
    torch.save({'epoch': epoch, 'model_state': model.state_dict()}, ckpt_name)


def train_and_eval(model, train_loader, eval_loader, ckpt_dir, args):
    optimizer = optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    lr_scheduler = lr_sched.LambdaLR(optimizer, lambda e: max(0.5 ** (e // 5), 1e-2))
    total_it = 0
    for epoch in range(1, args.epochs + 1):
        total_it = train_one_epoch(model, train_loader, optimizer, epoch, lr_scheduler, total_it)
        avg_iou = eval_one_epoch(model, eval_loader, epoch)
        if epoch % args.ckpt_save_interval == 0:
            name = os.path.join(ckpt_dir, 'checkpoint_epoch_%d.pth' % epoch)
            save_checkpoint(model, epoch, name)
    return avg_iou


if __name__ == '__main__':
    args = parser.parse_args()
    torch.manual_seed(0)
    args.output_dir = args.output_dir or tempfile.mkdtemp()
    model = PointSeg()
    eval_set = CloudDataset(60, args.npoints, 'EVAL')
    eval_loader = DataLoader(eval_set, batch_size=4, shuffle=False)
    train_set = CloudDataset(160, args.npoints, 'TRAIN')
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    train_and_eval(model, train_loader, eval_loader, args.output_dir, args)
    for i in range(3):
        eval_one_epoch(model, eval_loader, args.epochs)
