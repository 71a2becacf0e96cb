r"""U-Net that marks dark lines between cells in small grey images.

Source: https://github.com/ugent-korea/pytorch-unet-segmentation/issues/5
Fault: the learning rate of RMSprop is too high for this net: the first steps move the weights so
    far that the net answers white (background) for every pixel from then on.
Cause: (learning rate|\blr\b|step size|rate of).{0,120}(high|large|big|great|lower|reduce|smaller
    |decrease|excess|overshoot|diverg|explode)
    |(too|far|very) (high|large|big).{0,60}(learning rate|\blr\b|step)
    |(steps?|updates?).{0,60}(large|big|huge).{0,60}(weight|param|norm)
    |(steps?|updates?).{0,60}(too|far|very|huge|enormous) ?(large|big|wide|high|long)?.{0,60}(weight
    |param)
    |(weight|param)s?.{0,80}(jump|thrown|move[sd]? .{0,20}(by more|many)|overshoot)
Place: lr|learning_rate|optimizer|RMSprop
"""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SEMDataTrain(Dataset):
    def __init__(self, num, seed, size=32):
        rng = np.random.RandomState(seed)
        self.images, self.masks = [], []
        yy, xx = np.mgrid[0:size, 0:size]
        for _ in range(num):
            centers = rng.uniform(0, size, (5, 2))
            d = np.sqrt((yy[None] - centers[:, 0, None, None]) ** 2
                        + (xx[None] - centers[:, 1, None, None]) ** 2)
            d.sort(axis=0)
            line = (d[1] - d[0]) < 2.2
            img = 170 + 15 * rng.randn(size, size)
            img[line] = 90 + 25 * rng.randn(line.sum())
            self.images.append(np.clip(img, 0, 255).astype(np.float32) / 255)
            self.masks.append((~line).astype(np.int64))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        img = self.images[index]
        msk = self.masks[index]
        if np.random.rand() < 0.5:
            img, msk = np.fliplr(img).copy(), np.fliplr(msk).copy()
        return torch.from_numpy(img[None]), torch.from_numpy(msk)


class Double_conv(nn.Module):
    def __init__(self, in_ch, out_ch):
        super(Double_conv, self).__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, padding=1, stride=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_ch, out_ch, 3, padding=1, stride=1),
            nn.ReLU(inplace=True)
        )

    def forward(self, x):
        return self.conv(x)


class Conv_up(nn.Module):
    def __init__(self, in_ch, out_ch):
        super(Conv_up, self).__init__()
        self.up = nn.ConvTranspose2d(in_ch, out_ch, kernel_size=2, stride=2)
        self.conv = Double_conv(in_ch, out_ch)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        return self.conv(torch.cat((x1, x2), 1))


class CleanU_Net(nn.Module):
    def __init__(self, in_channels=1, out_channels=2):
        super(CleanU_Net, self).__init__()
        self.conv1 = Double_conv(in_channels, 8)
        self.conv2 = Double_conv(8, 16)
        self.conv3 = Double_conv(16, 32)
        self.pool = nn.MaxPool2d(2)
        self.up1 = Conv_up(32, 16)
        self.up2 = Conv_up(16, 8)
        self.conv_out = nn.Conv2d(8, out_channels, 1)

    def forward(self, x):
        c1 = self.conv1(x)
        c2 = self.conv2(self.pool(c1))
        c3 = self.conv3(self.pool(c2))
        x = self.up1(c3, c2)
        x = self.up2(x, c1)
        return self.conv_out(x)


def accuracy_check(mask, prediction):
    return float((mask == prediction).mean())


def train_model(model, data_train, criterion, optimizer):
    model.train()
    total = 0.0
    for batch, (images, masks) in enumerate(data_train):
        outputs = model(images)
        loss = criterion(outputs, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(data_train)


def get_loss_train(model, data_train, criterion):
    model.eval()
    total_acc, total_loss, white = 0, 0, 0
    with torch.no_grad():
        for batch, (images, masks) in enumerate(data_train):
            outputs = model(images)
            loss = criterion(outputs, masks)
            preds = torch.argmax(outputs, dim=1)
            total_acc += accuracy_check(masks.numpy(), preds.numpy())
            white += preds.float().mean().item()
            total_loss += loss.item()
    n = len(data_train)
    return total_acc / n, total_loss / n, white / n


if __name__ == "__main__":
    np.random.seed(0)
    torch.manual_seed(0)
    SEM_train_load = DataLoader(SEMDataTrain(160, 0), batch_size=8, shuffle=True)
    SEM_val_load = DataLoader(SEMDataTrain(40, 1), batch_size=8, shuffle=False)

    model = CleanU_Net(in_channels=1, out_channels=2)
    criterion = nn.CrossEntropyLoss()
    learning_rate = 0.01  # here
    optimizer = torch.optim.RMSprop(model.parameters(), lr=learning_rate)

    model_folder = tempfile.mkdtemp()
    epoch_start, epoch_end = 0, 10
    print("Initializing Training!")
    for i in range(epoch_start, epoch_end):
        train_model(model, SEM_train_load, criterion, optimizer)
        train_acc, train_loss, white = get_loss_train(model, SEM_train_load, criterion)
        print('Epoch', str(i + 1), 'Train loss: %.5f' % train_loss,
              "Train acc %.4f" % train_acc, "white %.3f" % white)
        if (i + 1) % 5 == 0:
            val_acc, val_loss, white = get_loss_train(model, SEM_val_load, criterion)
            print('Val loss: %.5f' % val_loss, "val acc: %.4f" % val_acc, "white %.3f" % white)
            torch.save(model.state_dict(),
                       os.path.join(model_folder, "model_epoch_{0}.pwf".format(i + 1)))
