r"""A small residual classifier with the anchor loss, which weighs a wrong class by its confusion.

Source: https://github.com/slryou41/AnchorLoss/issues/2
Fault: the log-probability of the negative classes is written as logsigmoid of 1 - input; the input
    is a logit, so that log(1 - sigmoid(input)), that is logsigmoid(-input), is meant. The value
    is the one of a logit shifted by 1.
Cause: (logsigmoid|log.?sigmoid|logpt_neg).{0,100}(1 ?- ?|one minus|-input|minus|negat|wrong|not
    |instead|shift|offset)
    |(1 ?- ?(input|x|logit|score)|one minus the (logit|input|score)|minus (the )?(logit|input
    |score))
    |log ?\(?1 ?- ?(sigmoid|sig|p)|(logit|score|input).{0,60}(subtracted from (1|one)
    |as if.{0,20}probabilit|treated as.{0,10}probabilit)
Place: logpt_neg|logsigmoid|AnchorLoss|forward
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class AnchorLoss(nn.Module):
    r"""Anchor Loss

    The loss is described in the paper "Anchor Loss: Modulating Loss Scale based on
    Prediction Difficulty"

    Args:
        gamma(float, optional): gamma > 0; reduces the relative loss for well-classified
            examples, putting more focus on hard, misclassified examples
        slack(float, optional): a margin variable to penalize the output variables which
            are close to the anchor probability
        anchor: 'neg' modulate the loss of background (negative) classes
        warm_up(boolean, optional): calculate cross entropy loss as a warm up step for
            stable training
    """

    def __init__(self, gamma=0.5, slack=0.05, anchor='neg', warm_up=False):
        super(AnchorLoss, self).__init__()

        assert anchor in ['neg', 'pos'], "Anchor type should be either ``neg`` or ``pos``"

        self.gamma = gamma
        self.slack = slack
        self.anchor = anchor
        self.warm_up = warm_up

        if anchor == 'pos':
            self.gamma = -self.gamma

    def forward(self, input, target):
        pt = torch.sigmoid(input)
        logpt_pos = F.logsigmoid(input)
        logpt_neg = F.logsigmoid(1 - input)  # here

        N = input.size(0)
        C = input.size(1)

        class_mask = input.data.new(N, C).fill_(0)
        class_mask.scatter_(1, target.view(-1, 1), 1.)
        class_mask = class_mask.float()

        pt_pos = pt.gather(1, target.view(-1, 1)).view(-1, 1)
        pt_pos = pt_pos * (1 - self.slack) if self.anchor == 'pos' else pt_pos - self.slack
        scaling_pos = -1 * torch.ones(N, C)
        scaling_neg = -1 * (1 + pt - pt_pos.detach()).clamp(min=0) ** self.gamma

        if self.warm_up:
            loss = -(class_mask * logpt_pos + (1 - class_mask) * logpt_neg)
        else:
            loss_pos = scaling_pos * class_mask * logpt_pos
            loss_neg = scaling_neg * (1 - class_mask) * logpt_neg
            loss = loss_pos + loss_neg
        return loss.sum(1).mean()


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)

        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, planes, 1, stride=stride, bias=False),
                nn.BatchNorm2d(planes)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        out = F.relu(out)
        return out


class ResNet(nn.Module):
    def __init__(self, num_classes=6):
        super(ResNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = BasicBlock(16, 16)
        self.layer2 = BasicBlock(16, 32, stride=2)
        self.layer3 = BasicBlock(32, 32)
        self.linear = nn.Linear(32, num_classes)
        self.criterion = AnchorLoss()

    def forward(self, x, target):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        out = F.adaptive_avg_pool2d(out, 1).flatten(1)
        out = self.linear(out)
        return self.criterion(out, target)


def build():
    torch.manual_seed(0)
    return ResNet()


def example_inputs():
    torch.manual_seed(1)
    target = torch.arange(24) % 6
    prototypes = torch.randn(6, 3, 12, 12)
    x = prototypes[target] + 0.5 * torch.randn(24, 3, 12, 12)
    return x, target
