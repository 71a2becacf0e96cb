"""A lane detector's head that says which lanes exist, with its loss.

Source: https://github.com/Turoad/lanedet/issues/32
    https://github.com/ZJULearning/resa/issues/29
Fault: the head ends in a sigmoid and its loss is binary_cross_entropy_with_logits, which applies a
    sigmoid again; no output can go below 0.5.
Cause: sigmoid.*(twice|double|again|already|before|logits)|double sigmoid|with.?logits.*sigmoid
Place: exist_pred|fc10
"""

import torch
import torch.nn.functional as F
from torch import nn


class ExistHead(nn.Module):
    def __init__(self, channels=32, num_lanes=6):
        super().__init__()
        self.dropout = nn.Dropout2d(0.1)
        self.conv8 = nn.Conv2d(channels, 5, 1)
        self.fc9 = nn.Linear(5 * 6 * 12, 64)
        self.fc10 = nn.Linear(64, num_lanes)

    def forward(self, x):
        x = self.conv8(self.dropout(x))
        x = F.avg_pool2d(F.softmax(x, dim=1), 2, stride=2)
        x = F.relu(self.fc9(x.flatten(1)))
        return torch.sigmoid(self.fc10(x))  # here


class LaneNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 32, 3, stride=4, padding=1), nn.BatchNorm2d(32), nn.ReLU()
        )
        self.head = ExistHead()

    def forward(self, image, lane_exist):
        exist_pred = self.head(self.stem(image))
        loss = 0.1 * F.binary_cross_entropy_with_logits(exist_pred, lane_exist)
        return {"loss": loss, "exist": exist_pred}


def build():
    return LaneNet()


def example_inputs():
    return torch.randn(4, 3, 48, 96), torch.randint(0, 2, (4, 6)).float()
