r"""A U-Net for a bright structure in noisy slices: BasicDataset, train_net and eval_net.

Source: https://github.com/milesial/Pytorch-UNet/issues/173
Fault: the masks are read as 0 and 255 and are not scaled to 0 and 1 before the binary cross
    entropy; the loss gets hugely negative, the dice coefficient exceeds 1 and the prediction is one
    colour.
Cause: (mask|target|label|true_masks?)s?\b.*(\b255\b|scal\w+|not (in|between|within|0)|outside
    |range|above (1|one)|larger than (1|one)|greater than (1|one)|exceed\w*|binar\w+
    |normali[sz]\w+|divid\w+)
    |(\b255\b|unscaled)\b.*(mask|target|label)
    |(bce\w*|binary cross.?entropy)\b.*(targets?|masks?|labels?)\b.*(\b255\b|outside|range|above
    |larger|greater|scal|between|0 and 1|0\.\.1|\[0)
Place: preprocess|mask|true_masks|BasicDataset|target
"""
import argparse
import logging
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class BasicDataset(Dataset):
    def __init__(self, n=160, size=32, seed=0):
        rng = np.random.RandomState(seed)
        self.imgs, self.masks = [], []
        yy, xx = np.mgrid[:size, :size]
        for _ in range(n):
            cy, cx = rng.randint(8, size - 8, 2)
            ry, rx = rng.randint(4, 8, 2)
            m = ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1
            img = rng.normal(90, 30, (size, size)) + 70 * m
            self.imgs.append(np.clip(img, 0, 255).astype(np.uint8))
            self.masks.append((m * 255).astype(np.uint8))

    def __len__(self):
        return len(self.imgs)

    @classmethod
    def preprocess(cls, img, is_mask):
        if len(img.shape) == 2:
            img = np.expand_dims(img, axis=2)
        # HWC to CHW
        img_trans = img.transpose((2, 0, 1)).astype(np.float32)
        if not is_mask:  # here
            img_trans = img_trans / 255
        return img_trans

    def __getitem__(self, i):
        img = self.preprocess(self.imgs[i], is_mask=False)
        mask = self.preprocess(self.masks[i], is_mask=True)
        return {'image': torch.from_numpy(img), 'mask': torch.from_numpy(mask)}


class DoubleConv(nn.Module):
    """(convolution => [BN] => ReLU) * 2"""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, kernel_size=3, padding=1),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True))

    def forward(self, x):
        return self.double_conv(x)


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes, bilinear=True, base=8):
        super(UNet, self).__init__()
        self.inc = DoubleConv(n_channels, base)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(base, 2 * base))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(2 * base, 2 * base))
        self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.conv1 = DoubleConv(4 * base, base)
        self.conv2 = DoubleConv(2 * base, base)
        self.outc = nn.Conv2d(base, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.conv1(torch.cat([x2, self.up(x3)], dim=1))
        x = self.conv2(torch.cat([x1, self.up(x)], dim=1))
        return self.outc(x)


def dice_coeff(input, target, eps=0.0001):
    inter = torch.dot(input.reshape(-1), target.reshape(-1))
    union = torch.sum(input) + torch.sum(target) + eps
    return (2 * inter.float() + eps) / union.float()


def eval_net(net, loader):
    """Evaluation without the densecrf with the dice coefficient"""
    net.eval()
    tot = 0
    for batch in loader:
        imgs, true_masks = batch['image'], batch['mask']
        with torch.no_grad():
            mask_pred = net(imgs)
        pred = torch.sigmoid(mask_pred)
        pred = (pred > 0.5).float()
        tot += dice_coeff(pred, true_masks).item()
    net.train()
    return tot / len(loader)


def train_net(net, epochs=4, batch_size=8, lr=0.001, val_percent=0.2):
    dataset = BasicDataset()
    n_val = int(len(dataset) * val_percent)
    n_train = len(dataset) - n_val
    train, val = random_split(dataset, [n_train, n_val])
    train_loader = DataLoader(train, batch_size=batch_size, shuffle=True)
    val_loader = DataLoader(val, batch_size=batch_size, shuffle=False)
    logging.info(f'Starting training: epochs {epochs}, batch {batch_size}, lr {lr}')

    optimizer = torch.optim.RMSprop(net.parameters(), lr=lr, weight_decay=1e-8, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0
        for batch in train_loader:
            imgs, true_masks = batch['image'], batch['mask']
            masks_pred = net(imgs)
            loss = criterion(masks_pred, true_masks)
            epoch_loss += loss.item()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(net.parameters(), 0.1)
            optimizer.step()
        val_score = eval_net(net, val_loader)
        logging.info('epoch %d loss %.4f' % (epoch + 1, epoch_loss / len(train_loader)))
        logging.info('Validation Dice Coeff: {:.4f}'.format(val_score))


def get_args():
    parser = argparse.ArgumentParser(description='Train the UNet on images and target masks')
    parser.add_argument('-e', '--epochs', type=int, default=4, dest='epochs')
    parser.add_argument('-b', '--batch-size', type=int, default=8, dest='batchsize')
    parser.add_argument('-l', '--learning-rate', type=float, default=0.001, dest='lr')
    parser.add_argument('-v', '--validation', type=float, default=20.0, dest='val')
    return parser.parse_args()


if __name__ == '__main__':
    logging.basicConfig(level=logging.INFO, format='%(levelname)s: %(message)s',
                        stream=sys.stdout)
    torch.manual_seed(0)
    args = get_args()
    net = UNet(n_channels=1, n_classes=1, bilinear=True)
    train_net(net=net, epochs=args.epochs, batch_size=args.batchsize, lr=args.lr,
              val_percent=args.val / 100)
