r"""Trains a classifier, saves it, loads it again by its name as the server does, and tests it.

Source: https://github.com/PaulCCCCCCH/Robustar_implementation/pull/165
Fault: after loading, the server evaluates the model without model.eval(); dropout is active and
    batch norm uses the statistics of batches of one class, so the accuracy is poor.
Cause: \b(eval ?\(\)|model\.eval|(eval|evaluation|inference) mode)\b.*(not|never|missing|without
    |forgotten|forgot|no)\b
    |\b(not|never|missing|without|forgets?|forgot|no)\b.*(\beval ?\(\)|model\.eval
    |evaluation mode|eval mode|inference mode)
    |\b(train\w*|training) mode\b
    |(dropout|batch.?norm\w*)\b.*(active|still|batch statistics|statistics of the (test )?batch
    |on (in|during|while|at))
Place: eval|evaluate|load_model|ModelWrapper|model|bn\d|drop
"""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(4)
np.random.seed(4)


class FolderDataset(Dataset):
    """pictures lie class by class, as in the folders of the server"""

    def __init__(self, per_class, seed, n_classes=4):
        proto = np.random.RandomState(5).normal(0, 1, (n_classes, 3, 12, 12))
        rng = np.random.RandomState(seed)
        self.items = []
        for c in range(n_classes):
            for _ in range(per_class):
                img = 0.8 * proto[c] + rng.normal(0, 1.0, (3, 12, 12))
                self.items.append((img.astype(np.float32), c))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, c = self.items[i]
        return torch.from_numpy(img), c


class SmallResNet(nn.Module):
    def __init__(self, n_classes=4, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(width)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(width * 9, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = x + F.relu(self.bn2(self.conv2(x)))
        x = F.max_pool2d(x, 2)
        return self.fc(self.drop(x.flatten(1)))


class ModelWrapper:
    def __init__(self, work_dir):
        self.work_dir = work_dir

    def path(self, name):
        return os.path.join(self.work_dir, name + '.pth')

    def save_model(self, model, name):
        torch.save(model.state_dict(), self.path(name))

    def load_model(self, name):
        model = SmallResNet()
        model.load_state_dict(torch.load(self.path(name)))
        print('Successfully loaded', name)
        return model


class Trainer:
    def __init__(self, net, trainset, epochs, lr, batch_size):
        self.net = net
        self.loader = DataLoader(trainset, batch_size=batch_size, shuffle=True)
        self.optim = torch.optim.Adam(net.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()
        self.epochs = epochs

    def train(self):
        self.net.train()
        for ep in range(self.epochs):
            total, right, count = 0.0, 0, 0
            for image, label in self.loader:
                self.optim.zero_grad()
                out = self.net(image)
                loss = self.criterion(out, label)
                loss.backward()
                self.optim.step()
                total += loss.item() * len(label)
                right += (out.argmax(1) == label).sum().item()
                count += len(label)
            print('epoch %d loss %.4f acc %.3f' % (ep, total / count, right / count))


def evaluate(model, dataset, batch_size=20):
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=False)
    correct, wrong = [], []
    with torch.no_grad():  # here
        for k, (image, label) in enumerate(loader):
            pred = model(image).argmax(1)
            for j in range(len(label)):
                idx = k * batch_size + j
                (correct if pred[j] == label[j] else wrong).append(idx)
    return correct, wrong


if __name__ == '__main__':
    trainset, testset = FolderDataset(120, 1), FolderDataset(40, 2)
    with tempfile.TemporaryDirectory() as work_dir:
        wrapper = ModelWrapper(work_dir)
        net = SmallResNet()
        Trainer(net, trainset, epochs=5, lr=1e-3, batch_size=32).train()
        wrapper.save_model(net, 'resnet-small')

        model = wrapper.load_model('resnet-small')
        correct, wrong = evaluate(model, testset)
        print('correct %d wrong %d test accuracy %.3f' % (
            len(correct), len(wrong), len(correct) / len(testset)))
