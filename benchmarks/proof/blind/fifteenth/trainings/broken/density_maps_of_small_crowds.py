r"""Density map of heads in small pictures, with the counting error of a separate val script.

Source: https://github.com/leeyeehoo/CSRNet-pytorch/issues/25
Fault: the training divides the pictures by 255 and then uses mean and std, the val code only
    subtracts 255 times the mean, so the net sees inputs hundreds of times larger and counts
    something random.
Cause: (normali[sz]|preprocess|transform|scal(e|ing)|range|standardi[sz]|divid).{0,140}(differ
    |not the same|missing|other|than in training|unlike|larger|mismatch|instead)
    |(input|data|image|pixel|picture)s?.{0,100}(evaluat|\bval(?!ue)|test|infer
    |predict).{0,120}(differ|larger|bigger|range|scale|distribution|unlike|normali)
    |(evaluat|\bval(?!ue)|test|infer|predict).{0,100}(input|data|image|pixel
    |picture)s?.{0,100}(differ|larger|bigger|range|scale|distribution|unlike|normali)
Place: transform|val|img|test_transform|mean|std|normalize|load_val_image
"""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]
SIZE = 32


def render(rng, count=None):
    count = rng.randint(2, 14) if count is None else count
    base = rng.randint(90, 150, size=3)
    img = base[None, None] + 12 * rng.randn(SIZE, SIZE, 3)
    density = np.zeros((SIZE // 2, SIZE // 2), np.float32)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    for _ in range(count):
        y, x = rng.randint(2, SIZE - 2, 2)
        head = np.exp(-((yy - y) ** 2 + (xx - x) ** 2) / 3.0)
        img = img * (1 - 0.85 * head[..., None]) + 30 * head[..., None]
        k = np.exp(-((np.mgrid[0:SIZE // 2, 0:SIZE // 2][0] - y / 2) ** 2
                     + (np.mgrid[0:SIZE // 2, 0:SIZE // 2][1] - x / 2) ** 2) / 2.0)
        density += (k / k.sum()).astype(np.float32)
    return np.clip(img, 0, 255).astype(np.uint8), density


def to_tensor(img):
    return torch.from_numpy(img.transpose(2, 0, 1).copy()).float() / 255


def normalize(t, mean, std):
    return (t - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)


class listDataset(Dataset):
    def __init__(self, root, transform, train=False):
        self.lines = root
        self.transform = transform
        self.train = train

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        img, target = self.lines[index]
        if self.train and np.random.rand() > 0.8:
            img, target = img[:, ::-1], target[:, ::-1]
        return self.transform(img), torch.from_numpy(target.copy())


class CSRNet(nn.Module):
    def __init__(self):
        super(CSRNet, self).__init__()
        self.frontend = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
                                      nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
                                      nn.MaxPool2d(2))
        self.backend = nn.Sequential(nn.Conv2d(16, 24, 3, padding=2, dilation=2), nn.ReLU(),
                                     nn.Conv2d(24, 16, 3, padding=2, dilation=2), nn.ReLU())
        self.output_layer = nn.Conv2d(16, 1, kernel_size=1)

    def forward(self, x):
        return self.output_layer(self.backend(self.frontend(x)))


def train(train_list, model, criterion, optimizer, epoch):
    transform = lambda im: normalize(to_tensor(im), MEAN, STD)  # noqa: E731
    loader = DataLoader(listDataset(train_list, transform, train=True), batch_size=4,
                        shuffle=True)
    model.train()
    total = 0.0
    for i, (img, target) in enumerate(loader):
        output = model(img)
        loss = criterion(output, target.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print('Epoch: [{0}]\tLoss {1:.5f}'.format(epoch, total / len(loader)))


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    rng = np.random.RandomState(1)
    train_list = [render(rng) for _ in range(240)]
    folder = tempfile.mkdtemp()
    model = CSRNet()
    criterion = nn.MSELoss(reduction='sum')
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=5e-4)
    for epoch in range(14):
        train(train_list, model, criterion, optimizer, epoch)
    path = os.path.join(folder, '0model_best.pth.tar')
    torch.save({'state_dict': model.state_dict()}, path)
    return path


def load_val_image(img):
    img = 255.0 * to_tensor(img)  # here
    img[0, :, :] = img[0, :, :] - 123.68  # here
    img[1, :, :] = img[1, :, :] - 116.28  # here
    img[2, :, :] = img[2, :, :] - 103.53  # here
    return img


def val(checkpoint_path):
    rng = np.random.RandomState(2)
    test_list = [render(rng) for _ in range(60)]
    model = CSRNet()
    checkpoint = torch.load(checkpoint_path)
    model.load_state_dict(checkpoint['state_dict'])
    model.eval()
    mae = 0
    true_counts = []
    with torch.no_grad():
        for i, (img, groundtruth) in enumerate(test_list):
            output = model(load_val_image(img).unsqueeze(0))
            mae += abs(output.sum().item() - np.sum(groundtruth))
            true_counts.append(np.sum(groundtruth))
            if i % 15 == 0:
                print(i, 'predicted %.2f, true %.2f' % (output.sum().item(), groundtruth.sum()))
    guess = np.abs(np.array(true_counts) - np.mean(true_counts)).mean()
    print('mae %.3f (always the mean count: %.3f)' % (mae / len(test_list), guess))


if __name__ == '__main__':
    val(main())
