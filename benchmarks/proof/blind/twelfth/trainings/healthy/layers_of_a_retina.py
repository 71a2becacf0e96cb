r"""Layers of a retina in simulated scans, by a net that ends with log_softmax and two losses.

Source: https://github.com/Jiaxuan-Li/MGU-Net/issues/3
Healthy: the dice loss takes exp() of its input where one expects a sigmoid; the net ends with
    log_softmax, so exp() gives the probabilities back.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
np.random.seed(6)

NUM_CLASS = 4


def make_scans(n, h=32, w=32):
    img = np.zeros((n, 1, h, w), dtype=np.float32)
    lab = np.zeros((n, h, w), dtype=np.int64)
    cols = np.arange(w)
    bright = [0.1, 0.75, 0.4, 0.9]
    for i in range(n):
        pit = 4 * np.exp(-((cols - np.random.uniform(10, 22)) / 5.0) ** 2)
        top = np.random.uniform(7, 10) + pit + 0.02 * (cols - 16) * np.random.randn()
        b1 = top + np.random.uniform(4, 6) - 0.5 * pit
        b2 = b1 + np.random.uniform(5, 7)
        rows = np.arange(h)[:, None]
        lab[i] = (rows >= top).astype(int) + (rows >= b1) + (rows >= b2)
        for c in range(NUM_CLASS):
            img[i, 0][lab[i] == c] = bright[c]
        img[i, 0] *= 1 + 0.35 * np.random.randn(h, w)
    return TensorDataset(torch.from_numpy(img), torch.from_numpy(lab))


class SurfaceLoss(nn.Module):
    """Dice loss over the layers; the first class is the background above"""

    def __init__(self, ignore_background=False):
        super(SurfaceLoss, self).__init__()
        self.start = 1 if ignore_background else 0

    def forward(self, input, target):
        input = torch.exp(input)
        smooth = 1.0
        onehot = F.one_hot(target, NUM_CLASS).permute(0, 3, 1, 2).float()
        loss = 0.0
        for c in range(self.start, NUM_CLASS):
            iflat = input[:, c].reshape(len(input), -1)
            tflat = onehot[:, c].reshape(len(input), -1)
            inter = (iflat * tflat).sum(1)
            dice = (2.0 * inter + smooth) / (iflat.sum(1) + tflat.sum(1) + smooth)
            loss = loss + (1 - dice).mean()
        return loss / (NUM_CLASS - self.start)


class UnetConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super(UnetConv, self).__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(in_channels, out_channels, 3, padding=1),
                                   nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True))
        self.conv2 = nn.Sequential(nn.Conv2d(out_channels, out_channels, 3, padding=1),
                                   nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.conv2(self.conv1(x))


class GraphUNet(nn.Module):
    def __init__(self, n_classes, feature=12):
        super(GraphUNet, self).__init__()
        self.conv1 = UnetConv(1, feature)
        self.conv2 = UnetConv(feature, feature * 2)
        self.center = UnetConv(feature * 2, feature * 4)
        self.up2 = nn.ConvTranspose2d(feature * 4, feature * 2, 2, stride=2)
        self.dec2 = UnetConv(feature * 4, feature * 2)
        self.up1 = nn.ConvTranspose2d(feature * 2, feature, 2, stride=2)
        self.dec1 = UnetConv(feature * 2, feature)
        self.final_1 = nn.Conv2d(feature, n_classes, 1)

    def forward(self, inputs):
        conv1 = self.conv1(inputs)
        conv2 = self.conv2(F.max_pool2d(conv1, 2))
        center = self.center(F.max_pool2d(conv2, 2))
        up2 = self.dec2(torch.cat([conv2, self.up2(center)], 1))
        up1 = self.dec1(torch.cat([conv1, self.up1(up2)], 1))
        return F.log_softmax(self.final_1(up1), dim=1)


def dice_per_layer(model, x, y):
    model.eval()
    with torch.no_grad():
        pred = model(x).argmax(1)
    return [(2.0 * ((pred == c) & (y == c)).sum() / ((pred == c).sum() + (y == c).sum())).item()
            for c in range(NUM_CLASS)]


def train(args):
    train_loader = DataLoader(make_scans(160), batch_size=args["batch_size"], shuffle=True)
    x_val, y_val = make_scans(40).tensors
    model = GraphUNet(NUM_CLASS)
    optimizer = torch.optim.Adam(model.parameters(), args["lr"])
    criterion1 = nn.NLLLoss()
    criterion2 = SurfaceLoss()
    for epoch in range(args["epochs"]):
        model.train()
        nll, dice = 0.0, 0.0
        for imgt, gt in train_loader:
            output = model(imgt)
            loss_1 = criterion1(output, gt)
            loss_2 = criterion2(output, gt)
            loss = loss_1 + loss_2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            nll += loss_1.item() / len(train_loader)
            dice += loss_2.item() / len(train_loader)
        print("epoch %d nll %.4f dice loss %.4f val dice %s" % (
            epoch, nll, dice, ["%.3f" % d for d in dice_per_layer(model, x_val, y_val)]))


if __name__ == "__main__":
    train({"batch_size": 8, "lr": 2e-3, "epochs": 5})
