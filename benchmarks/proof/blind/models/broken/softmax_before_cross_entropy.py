"""A convolutional network for activity recognition from accelerometers.

Source: https://github.com/Lightning-Universe/lightning-bolts/issues/654
    https://github.com/jindongwang/Deep-learning-activity-recognition/issues/10
Fault: the model returns probabilities and cross entropy takes the softmax again: the loss stays
    high.
Cause: softmax.*(twice|double|again|already|two|before|log)|double softmax|logits
Place: softmax
"""

import torch
import torch.nn.functional as F
from torch import nn


class HARNet(nn.Module):
    def __init__(self, channels=6, num_classes=6):
        super().__init__()
        self.conv1 = nn.Sequential(
            nn.Conv1d(channels, 16, 9, padding=4), nn.ReLU(), nn.MaxPool1d(2)
        )
        self.conv2 = nn.Sequential(nn.Conv1d(16, 24, 9, padding=4), nn.ReLU(), nn.MaxPool1d(2))
        self.fc1 = nn.Linear(24 * 8, 32)
        self.fc2 = nn.Linear(32, num_classes)

    def forward(self, x, labels):
        out = self.conv2(self.conv1(x)).flatten(1)
        out = F.relu(self.fc1(out))
        out = F.softmax(self.fc2(out), dim=1)  # here
        return {"loss": F.cross_entropy(out, labels), "logits": out}


def example_inputs():
    return (
        torch.randn(16, 6, 32),
        torch.randint(0, 6, (16,)),
    )
