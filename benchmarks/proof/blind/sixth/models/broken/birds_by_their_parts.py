r"""Fine classes of birds from the whole picture and from its most telling parts.

Source: https://github.com/yangze0930/NTS-Net/issues/14
Fault: The forward makes a new dropout each time, which is in training mode in evaluation also.
Cause: drop ?out.{0,80}(eval|infer|test|always|forward|mode|active|new|construct|train)
    |(eval|infer)\w*.{0,80}(drop ?out|random|differ|not the same|noise)|(random|two).{0,40}eval
Place: dropout
"""

import torch
from torch import nn


class Stage(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.down = nn.Conv2d(channels, out, 1, stride=2, bias=False)

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.down(x))


class Backbone(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stages = nn.Sequential(Stage(3, 16), Stage(16, 32))
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        fm = self.stages(x)
        x = fm.mean((2, 3))
        x = nn.Dropout(p=0.5)(x)  # here
        return self.fc(x), fm, x


class Birds(nn.Module):
    def __init__(self, classes=12):
        super().__init__()
        self.backbone = Backbone(classes)
        self.proposal = nn.Conv2d(32, 1, 3, padding=1)
        self.concat_net = nn.Linear(2 * 32, classes)

    def forward(self, x):
        logits, fm, whole = self.backbone(x)
        where = self.proposal(fm.detach()).flatten(2).softmax(-1)
        part = (fm.flatten(2) * where).sum(-1)
        return logits, self.concat_net(torch.cat([whole, part], dim=1))


def build():
    return Birds()


def example_inputs():
    return torch.rand(4, 3, 32, 32)
