"""A GoogLeNet-like classifier that returns three outputs in training and one in eval mode.

Source: https://github.com/pytorch/vision/blob/main/torchvision/models/googlenet.py
Odd: two small classifiers hang on the middle of the network and take no part in the prediction;
    they are auxiliary losses with a weight of 0.3.
"""

import torch
import torch.nn.functional as F
from torch import nn


class InceptionAux(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv = nn.Conv2d(channels, 16, 1)
        self.fc1, self.fc2 = nn.Linear(64, 32), nn.Linear(32, classes)

    def forward(self, x):
        x = self.conv(F.adaptive_avg_pool2d(x, 2)).relu().flatten(1)
        return self.fc2(F.dropout(self.fc1(x).relu(), 0.7, self.training))


class MiniGoogLeNet(nn.Module):
    def __init__(self, classes=5, aux_weight=0.3):
        super().__init__()
        self.aux_weight = aux_weight
        self.stage1 = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU())
        self.stage3 = nn.Sequential(nn.Conv2d(32, 48, 3, 2, 1), nn.BatchNorm2d(48), nn.ReLU())
        self.aux1, self.aux2 = InceptionAux(16, classes), InceptionAux(32, classes)
        self.fc = nn.Linear(48, classes)

    def forward(self, images, labels):
        x1 = self.stage1(images)
        x2 = self.stage2(x1)
        logits = self.fc(self.stage3(x2).mean((2, 3)))
        loss = F.cross_entropy(logits, labels)
        if self.training:
            for aux, x in ((self.aux1, x1), (self.aux2, x2)):
                loss = loss + self.aux_weight * F.cross_entropy(aux(x), labels)
        return {"loss": loss, "logits": logits}


def build():
    return MiniGoogLeNet()


def example_inputs():
    return torch.randn(8, 3, 32, 32), torch.randint(0, 5, (8,))
