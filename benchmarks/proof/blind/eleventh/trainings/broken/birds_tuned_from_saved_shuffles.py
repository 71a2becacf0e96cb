r"""Pretrains a small shuffle net on many kinds, saves it, and fine-tunes it on few pictures of
birds.

Source: https://github.com/megvii-model/ShuffleNet-Series/issues/37
Fault: the file was saved from a DataParallel model, all keys begin with module.; load_state_dict
    with strict=False matches nothing, the fine-tuning starts from random weights without a word.
Cause: strict\b.*(false|hid\w*|silent\w*|skip\w*|ignor\w*|nothing|no key|mismatch|match)
    |(keys?|names?|prefix|module\.?)\b.*(mismatch\w*|not (match|fit)|no match|differ\w*|prefix
    |none|missing|unexpected|skipped|ignored|nothing)
    |(pre-?trained|saved|checkpoint)\b.*(weights?|state|parameters?|values?|keys?)\b.*(not|never
    |nothing|none|no)\b.*(load|match|restor|copied|taken|used|arriv|fit|reach|change|model)
    |(load_state_dict|loading)\b.*(nothing|no (key|tensor|weight|parameter)|none|without effect
    |silent\w*)
    |\b(no|none of the|not one|nothing)\b.*(load\w*|matched|restored|copied|taken over)\b
Place: load_state_dict|strict|_load_pretrained|init_weights|state_dict|module
"""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def kinds(n, seed, classes, first=0):
    """pictures built of class specific textures"""
    rng = np.random.RandomState(123)
    waves = rng.uniform(0.3, 1.4, (40, 3, 2))
    shift = rng.uniform(0, 6.28, (40, 3))
    rng = np.random.RandomState(seed)
    y = rng.randint(0, classes, n)
    yy, xx = np.mgrid[:16, :16]
    x = np.zeros((n, 3, 16, 16), np.float32)
    for i in range(n):
        k = first + y[i]
        off = rng.uniform(0, 6.28)
        for c in range(3):
            a, b = waves[k, c]
            x[i, c] = np.sin(a * xx + b * yy + shift[k, c] + off)
    x = x + rng.normal(0, 1.0, x.shape)
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


class ShuffleUnit(nn.Module):
    def __init__(self, inp):
        super().__init__()
        mid = inp // 2
        self.branch = nn.Sequential(
            nn.Conv2d(mid, mid, 1, bias=False), nn.BatchNorm2d(mid), nn.ReLU(inplace=True),
            nn.Conv2d(mid, mid, 3, padding=1, groups=mid, bias=False), nn.BatchNorm2d(mid),
            nn.Conv2d(mid, mid, 1, bias=False), nn.BatchNorm2d(mid), nn.ReLU(inplace=True))

    def channel_shuffle(self, x):
        b, c, h, w = x.shape
        return x.view(b, 2, c // 2, h, w).transpose(1, 2).reshape(b, c, h, w)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        return self.channel_shuffle(torch.cat([a, self.branch(b)], 1))


class ShuffleNetV2(nn.Module):
    def __init__(self, n_class=1000, ch=32):
        super().__init__()
        self.first_conv = nn.Sequential(
            nn.Conv2d(3, ch, 3, 1, 1, bias=False), nn.BatchNorm2d(ch), nn.ReLU(inplace=True))
        self.maxpool = nn.MaxPool2d(2)
        self.features = nn.Sequential(*[ShuffleUnit(ch) for _ in range(3)])
        self.conv_last = nn.Sequential(nn.Conv2d(ch, 64, 1, bias=False), nn.BatchNorm2d(64),
                                       nn.ReLU(inplace=True))
        self.classifier = nn.Linear(64, n_class)

    def init_weights(self, pretrained):
        address = pretrained
        checkpoint = torch.load(address)
        pretrained_state_dict = {k: v for k, v in checkpoint['state_dict'].items()
                                 if 'classifier' not in k}
        self.load_state_dict(pretrained_state_dict, strict=False)  # here
        print('loaded pretrained model from', os.path.basename(address))

    def forward(self, x):
        x = self.maxpool(self.first_conv(x))
        x = self.conv_last(self.features(x))
        return self.classifier(x.mean([2, 3]))


def accuracy(model, loader):
    model.eval()
    good = n = 0
    with torch.no_grad():
        for x, y in loader:
            good += (model(x).argmax(1) == y).sum().item()
            n += len(y)
    return good / n


def fit(model, loader, epochs, lr, tag):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=4e-5)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: 1.0 - step / (epochs * len(loader)))
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item()
        print('%s epoch %d loss %.4f' % (tag, epoch, total / len(loader)))


def main():
    torch.manual_seed(2)
    with tempfile.TemporaryDirectory() as folder:
        address = os.path.join(folder, 'ShuffleNetV2.1.0x.pth.tar')

        model = nn.DataParallel(ShuffleNetV2(n_class=20))
        big = DataLoader(kinds(1600, 0, 20), batch_size=64, shuffle=True)
        fit(model, big, epochs=4, lr=0.1, tag='pretraining')
        torch.save({'state_dict': model.state_dict()}, address)

        birds_train = DataLoader(kinds(60, 5, 6, first=20), batch_size=12, shuffle=True)
        birds_test = DataLoader(kinds(300, 6, 6, first=20), batch_size=100)
        net = ShuffleNetV2(n_class=6)
        net.init_weights(address)
        fit(net, birds_train, epochs=5, lr=0.02, tag='birds')
        print('birds test accuracy %.3f' % accuracy(net, birds_test))


if __name__ == '__main__':
    main()
