r"""The official super resolution example: sub-pixel convolution, checkpoints of epochs and mean
PSNR.

Source: https://github.com/pytorch/examples/blob/main/super_resolution/main.py
Healthy: the last convolution has orthogonal weights without a gain, whole modules are saved with
    torch.save and the PSNR is a mean over batches; it is all as published and beats enlargement.
"""
import argparse
import os
import tempfile
from math import log10

import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser(description='PyTorch Super Res Example')
parser.add_argument('--upscale_factor', type=int, default=2, help="super resolution factor")
parser.add_argument('--batchSize', type=int, default=5, help='training batch size')
parser.add_argument('--testBatchSize', type=int, default=10, help='testing batch size')
parser.add_argument('--nEpochs', type=int, default=12, help='number of epochs to train for')
parser.add_argument('--lr', type=float, default=0.002, help='Learning Rate')
parser.add_argument('--seed', type=int, default=123, help='random seed to use')
opt = parser.parse_args()


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super(Net, self).__init__()

        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 32, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(32, 32, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(32, 16, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(16, upscale_factor ** 2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)

        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        x = self.pixel_shuffle(self.conv4(x))
        return x

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain('relu'))
        init.orthogonal_(self.conv2.weight, init.calculate_gain('relu'))
        init.orthogonal_(self.conv3.weight, init.calculate_gain('relu'))
        init.orthogonal_(self.conv4.weight)


class DatasetFromPictures(Dataset):
    """rectangles and discs with sharp rims in the brightness channel"""

    def __init__(self, n, seed, size=32, factor=2):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing='ij')
        self.pairs = []
        for _ in range(n):
            img = torch.full((size, size), 0.2)
            for _ in range(3):
                r, c, h, w = (torch.rand(4, generator=g) * 20 + 2).tolist()
                v = torch.rand(1, generator=g).item()
                if torch.rand(1, generator=g).item() < 0.5:
                    m = (yy >= r) & (yy < r + h) & (xx >= c) & (xx < c + w)
                else:
                    m = (yy - r) ** 2 + (xx - c) ** 2 < (h / 2) ** 2
                img[m] = v
            img = img.unsqueeze(0)
            small = nn.functional.avg_pool2d(img.unsqueeze(0), factor).squeeze(0)
            self.pairs.append((small, img))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]


torch.manual_seed(opt.seed)
device = torch.device("cpu")

print('===> Loading datasets')
train_set = DatasetFromPictures(200, 0, factor=opt.upscale_factor)
test_set = DatasetFromPictures(50, 1, factor=opt.upscale_factor)
training_data_loader = DataLoader(dataset=train_set, batch_size=opt.batchSize, shuffle=True)
testing_data_loader = DataLoader(dataset=test_set, batch_size=opt.testBatchSize, shuffle=False)

print('===> Building model')
model = Net(upscale_factor=opt.upscale_factor).to(device)
criterion = nn.MSELoss()

optimizer = optim.Adam(model.parameters(), lr=opt.lr)


def train(epoch):
    epoch_loss = 0
    for iteration, batch in enumerate(training_data_loader, 1):
        input, target = batch[0].to(device), batch[1].to(device)

        optimizer.zero_grad()
        loss = criterion(model(input), target)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()

    print("===> Epoch {} Complete: Avg. Loss: {:.4f}".format(
        epoch, epoch_loss / len(training_data_loader)))


def test(net):
    avg_psnr = 0
    with torch.no_grad():
        for batch in testing_data_loader:
            input, target = batch[0].to(device), batch[1].to(device)

            prediction = net(input)
            mse = criterion(prediction, target)
            psnr = 10 * log10(1 / mse.item())
            avg_psnr += psnr
    avg_psnr = avg_psnr / len(testing_data_loader)
    print("===> Avg. PSNR: {:.4f} dB".format(avg_psnr))
    return avg_psnr


def checkpoint(folder, epoch):
    model_out_path = os.path.join(folder, "model_epoch_{}.pth".format(epoch))
    torch.save(model, model_out_path)
    return model_out_path


print('bilinear enlargement')
test(nn.Upsample(scale_factor=opt.upscale_factor, mode='bilinear', align_corners=False))
with tempfile.TemporaryDirectory() as folder:
    best, best_path = 0.0, None
    for epoch in range(1, opt.nEpochs + 1):
        train(epoch)
        score = test(model)
        if score > best:
            best, best_path = score, checkpoint(folder, epoch)
    print('best checkpoint', os.path.basename(best_path))
    test(torch.load(best_path, weights_only=False))
