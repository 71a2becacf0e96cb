r"""Training pipeline that segments an organ in small slices, with subjects listed in a table.

Source: https://github.com/mlcommons/GaNDLF/pull/870
Fault: the images and the ground truth come from two loaders that each shuffle on their own, so an
    image is trained with the mask of another subject.
Cause: (shuffl|permut|order|random).{0,120}(separate|independent|each|own|differ|two|not the same
    |apart|individually)
    |(image|input|data|sample|feature)s?.{0,100}(label|mask|target|ground truth)s?.{0,100}(another
    |different|mismatch|mispair|misalign|not (match|belong|correspond|paired)|unrelated|independent
    |of other)
    |(label|mask|target|ground truth)s?.{0,100}(another|different|mismatch|mispair|misalign
    |not (match|belong|correspond|paired)|unrelated|shuffl|independent|of other)
    |two loaders
Place: shuffle|label_loader|image_loader|train_labels|get_train_loader|DataLoader|zip
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def make_subjects(num, seed, size=24):
    rng = np.random.RandomState(seed)
    yy, xx = np.mgrid[0:size, 0:size]
    rows = []
    for i in range(num):
        cy, cx = rng.uniform(6, size - 6, 2)
        ry, rx = rng.uniform(3, 6, 2)
        organ = ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 <= 1
        bone = rng.rand(size, size) < 0.03
        img = 0.3 * rng.randn(size, size) + 1.0 * organ + 2.0 * bone
        rows.append({'SubjectID': 'case_%03d' % i, 'Channel_0': img.astype(np.float32),
                     'Label': organ.astype(np.float32)})
    return rows


class ColumnDataset(Dataset):
    def __init__(self, subjects, column, normalize=False):
        self.subjects = subjects
        self.column = column
        self.normalize = normalize

    def __len__(self):
        return len(self.subjects)

    def __getitem__(self, idx):
        x = torch.from_numpy(self.subjects[idx][self.column]).unsqueeze(0)
        if self.normalize:
            x = (x - x.mean()) / x.std()
        return self.subjects[idx]['SubjectID'], x


def get_train_loader(params, subjects):
    image_loader = DataLoader(ColumnDataset(subjects, 'Channel_0', normalize=True),
                              batch_size=params['batch_size'], shuffle=True)  # here
    label_loader = DataLoader(ColumnDataset(subjects, 'Label'),
                              batch_size=params['batch_size'], shuffle=True)  # here
    return image_loader, label_loader


def get_validation_loader(params, subjects):
    image_loader = DataLoader(ColumnDataset(subjects, 'Channel_0', normalize=True), batch_size=1)
    label_loader = DataLoader(ColumnDataset(subjects, 'Label'), batch_size=1)
    return image_loader, label_loader


class light_unet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.ins = nn.Sequential(nn.Conv2d(1, base, 3, padding=1), nn.InstanceNorm2d(base),
                                 nn.LeakyReLU())
        self.ds = nn.Sequential(nn.Conv2d(base, 2 * base, 3, stride=2, padding=1),
                                nn.InstanceNorm2d(2 * base), nn.LeakyReLU(),
                                nn.Conv2d(2 * base, 2 * base, 3, padding=1), nn.LeakyReLU())
        self.us = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.out = nn.Sequential(nn.Conv2d(2 * base, base, 3, padding=1), nn.LeakyReLU(),
                                 nn.Conv2d(base, 1, 1))

    def forward(self, x):
        x1 = self.ins(x)
        x2 = self.us(self.ds(x1))
        return torch.sigmoid(self.out(torch.cat([x1, x2], dim=1)))


def dice(inp, target):
    smooth = 1e-7
    iflat = inp.contiguous().view(-1)
    tflat = target.contiguous().view(-1)
    intersection = (iflat * tflat).sum()
    return (2.0 * intersection + smooth) / (iflat.sum() + tflat.sum() + smooth)


def loss_dc(pm, gt):
    return 1 - dice(pm, gt) + F.binary_cross_entropy(pm, gt)


def train_network(model, train_loaders, optimizer, params):
    image_loader, label_loader = train_loaders
    total_epoch_train_loss = 0
    total_epoch_train_metric = 0
    model.train()
    for batch_idx, ((_, image), (_, label)) in enumerate(zip(image_loader, label_loader)):
        optimizer.zero_grad()
        output = model(image)
        loss = loss_dc(output, label)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), params['clip_grad'])
        optimizer.step()
        total_epoch_train_loss += loss.item()
        total_epoch_train_metric += dice((output > 0.5).float(), label).item()
    n = len(image_loader)
    return total_epoch_train_loss / n, total_epoch_train_metric / n


@torch.no_grad()
def validate_network(model, valid_loaders, params):
    model.eval()
    image_loader, label_loader = valid_loaders
    loss, metric = 0.0, 0.0
    for (_, image), (_, label) in zip(image_loader, label_loader):
        output = model(image)
        loss += loss_dc(output, label).item()
        metric += dice((output > 0.5).float(), label).item()
    return loss / len(image_loader), metric / len(image_loader)


def training_loop(params):
    torch.manual_seed(params['seed'])
    train_loaders = get_train_loader(params, make_subjects(160, 1))
    valid_loaders = get_validation_loader(params, make_subjects(40, 2))
    model = light_unet()
    optimizer = torch.optim.Adam(model.parameters(), lr=params['learning_rate'])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
    best_loss, patience = 1e7, 0
    for epoch in range(params['num_epochs']):
        train_loss, train_dice = train_network(model, train_loaders, optimizer, params)
        valid_loss, valid_dice = validate_network(model, valid_loaders, params)
        scheduler.step()
        print("Epoch %2d train loss %.4f dice %.4f | valid loss %.4f dice %.4f" % (
            epoch, train_loss, train_dice, valid_loss, valid_dice))
        if valid_loss < best_loss:
            best_loss, patience = valid_loss, 0
        else:
            patience += 1
        if patience > params['patience']:
            print("Performance Metric has not improved, exiting")
            break


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--num_epochs', type=int, default=12)
    parser.add_argument('--batch_size', type=int, default=8)
    parser.add_argument('--learning_rate', type=float, default=5e-3)
    parser.add_argument('--patience', type=int, default=10)
    parser.add_argument('--clip_grad', type=float, default=5.0)
    parser.add_argument('--seed', type=int, default=0)
    training_loop(vars(parser.parse_args()))
