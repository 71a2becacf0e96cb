r"""Sound event detection with a small recurrent-convolutional net, then inference on saved weights.

Source: https://github.com/frednam93/FDY-SED/issues/4
Fault: the net that is loaded for the inference is never put into eval mode, so dropout stays on and
    the batch norms use the batch; the same clip gets other predictions each time.
Cause: \beval\b|evaluation mode|train(ing)? mode|inference mode.{0,40}(not|never|missing)
    |dropout.{0,100}(still|active|on|inference|test|random|disabled)
    |batch.?norm\w*.{0,100}(batch statistics|inference|test|running)
Place: inference|net|eval|crnn|predict|model|load_state_dict
"""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
np.random.seed(21)

EVENTS = ["dog", "dishes", "speech", "alarm"]
N_FRAMES, N_MELS = 40, 16

train_cfg = {"batch_size": 24, "lr": 3e-3, "n_epochs": 6, "threshold": 0.5}


def make_clips(n):
    spec = 0.5 * np.random.randn(n, N_FRAMES, N_MELS)
    label = np.zeros((n, N_FRAMES, len(EVENTS)))
    bands = {0: [2, 3, 4], 1: [10, 12, 14], 2: [4, 5, 6, 7], 3: [9]}
    for i in range(n):
        for _ in range(np.random.randint(1, 4)):
            e = np.random.randint(len(EVENTS))
            start = np.random.randint(0, N_FRAMES - 8)
            stop = start + np.random.randint(6, 16)
            label[i, start:stop, e] = 1
            spec[i, start:stop, bands[e]] += 1.0
    return TensorDataset(torch.tensor(spec, dtype=torch.float32).unsqueeze(1),
                         torch.tensor(label, dtype=torch.float32))


class CNN(nn.Module):
    def __init__(self, nb_filters=(16, 32), pooling=((1, 2), (1, 4)), dropout=0.5):
        super().__init__()
        layers, prev = [], 1
        for f, p in zip(nb_filters, pooling):
            layers += [nn.Conv2d(prev, f, 3, padding=1), nn.BatchNorm2d(f), nn.ReLU(),
                       nn.Dropout(dropout), nn.AvgPool2d(p)]
            prev = f
        self.cnn = nn.Sequential(*layers)

    def forward(self, x):
        return self.cnn(x)


class CRNN(nn.Module):
    def __init__(self, n_class=len(EVENTS), n_RNN_cell=24, rnn_dropout=0.5):
        super().__init__()
        self.cnn = CNN()
        self.rnn = nn.GRU(32 * 2, n_RNN_cell, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(rnn_dropout)
        self.linear = nn.Linear(n_RNN_cell * 2, n_class)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        x = self.cnn(x)
        bs, ch, frame, freq = x.size()
        x = x.permute(0, 2, 1, 3).reshape(bs, frame, ch * freq)
        x, _ = self.rnn(x)
        x = self.dropout(x)
        return self.sigmoid(self.linear(x))


def frame_f1(strong_pred, label, th=0.5):
    pred = (strong_pred > th).float()
    tp = (pred * label).sum()
    return (2 * tp / (pred.sum() + label.sum() + 1e-9)).item()


def training(net, loader, optimizer, criterion):
    net.train()
    mean_loss = 0.0
    for wavs, labels in loader:
        optimizer.zero_grad()
        loss = criterion(net(wavs), labels)
        loss.backward()
        optimizer.step()
        mean_loss += loss.item() / len(loader)
    return mean_loss


def validation(net, loader, criterion):
    net.eval()
    with torch.no_grad():
        out = [(net(x), y) for x, y in loader]
    pred, label = torch.cat([o[0] for o in out]), torch.cat([o[1] for o in out])
    return criterion(pred, label).item(), frame_f1(pred, label, train_cfg["threshold"])


def inference(path, dataset):
    net = CRNN()
    net.load_state_dict(torch.load(path))  # here
    strong = []
    with torch.no_grad():
        for x, _ in DataLoader(dataset, batch_size=4):
            strong.append(net(x))
    return torch.cat(strong)


def main():
    train_set, valid_set, test_set = make_clips(360), make_clips(80), make_clips(80)
    train_loader = DataLoader(train_set, batch_size=train_cfg["batch_size"], shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=40)
    net = CRNN()
    optimizer = torch.optim.Adam(net.parameters(), lr=train_cfg["lr"])
    criterion = nn.BCELoss()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "best_student.pt")
        best = -1
        for epoch in range(train_cfg["n_epochs"]):
            loss = training(net, train_loader, optimizer, criterion)
            val_loss, f1 = validation(net, valid_loader, criterion)
            print("[Epc %d] tt: %.4f, val: %.4f, val f1: %.3f" % (epoch + 1, loss, val_loss, f1))
            if f1 > best:
                best = f1
                torch.save(net.state_dict(), path)
        first = inference(path, test_set)
        second = inference(path, test_set)
    label = test_set.tensors[1]
    print("test f1 of two runs: %.3f %.3f" % (frame_f1(first, label), frame_f1(second, label)))
    print("largest difference between the runs: %.4f" % (first - second).abs().max())


if __name__ == "__main__":
    main()
