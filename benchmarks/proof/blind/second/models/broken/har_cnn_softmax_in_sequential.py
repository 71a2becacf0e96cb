"""A one-dimensional CNN for activity recognition, with its criterion inside.

Source: https://github.com/jindongwang/Deep-learning-activity-recognition/issues/10
    https://github.com/MicrosoftDocs/ml-basics/issues/48
Fault: the last fully connected block ends in nn.Softmax and the criterion is CrossEntropyLoss,
    which wants scores; softmax is applied twice.
Cause: softmax.*(twice|double|again|before|already|entropy|remove)|entropy.*(logits|scores)
Place: fc3|Softmax
"""

import torch
from torch import nn


class Network(nn.Module):
    def __init__(self, channels=9, classes=6):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv1d(channels, 32, 9), nn.ReLU(), nn.MaxPool1d(2))
        self.conv2 = nn.Sequential(nn.Conv1d(32, 64, 9), nn.ReLU(), nn.MaxPool1d(2))
        self.fc1 = nn.Sequential(nn.Linear(64 * 10, 100), nn.ReLU())
        self.fc2 = nn.Sequential(nn.Linear(100, 50), nn.ReLU())
        self.fc3 = nn.Sequential(nn.Linear(50, classes), nn.Softmax(dim=1))  # here
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x, target):
        out = self.conv2(self.conv1(x))
        out = self.fc3(self.fc2(self.fc1(out.flatten(1))))
        return self.criterion(out, target), out


def example_inputs():
    return torch.randn(16, 9, 64), torch.randint(0, 6, (16,))
