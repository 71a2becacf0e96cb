r"""Twin network on two pictures of faces with a loss on their distance.

Source: https://github.com/harveyslash/Facial-Similarity-with-Siamese-Networks-in-Pytorch/issues/26
Fault: The labels are a column and the distances a row, so their product is a square over all
    pairs of the batch and each distance meets each label.
Cause: broadcast\w*|(label|distance)\w*.{0,140}(column|row|shape|squeeze\w*|unsqueeze\w*
    |keepdim|square|matrix|every|each other|all (pairs|labels|distances|combinations)
    |cross(ed)?)|(B|N|batch).{0,6}(x|by|,|×).{0,6}(B|N|batch)|outer product|keepdim
    |shape mismatch|mismatch\w* shape\w*
Place: labels?|distances?|keepdim|unsqueeze|squeeze|view|forward|loss\w*
"""

import torch
import torch.nn.functional as F
from torch import nn


class Branch(nn.Module):
    def __init__(self, side=48, code=5):
        super().__init__()
        layers = []
        for inputs, outputs in ((1, 4), (4, 8), (8, 8)):
            layers += [nn.ReflectionPad2d(1), nn.Conv2d(inputs, outputs, 3), nn.ReLU()]
            layers += [nn.BatchNorm2d(outputs)]
        self.cnn1 = nn.Sequential(*layers)
        self.fc1 = nn.Sequential(
            nn.Linear(8 * side * side, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU()
        )
        self.fc2 = nn.Linear(100, code)

    def forward(self, x):
        return self.fc2(self.fc1(self.cnn1(x).flatten(1)))


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        euclidean_distance = F.pairwise_distance(output1, output2)  # here
        return torch.mean(
            (1 - label) * euclidean_distance.pow(2)
            + label * torch.clamp(self.margin - euclidean_distance, min=0.0).pow(2)
        )


class TwoFaces(nn.Module):
    def __init__(self):
        super().__init__()
        self.branch = Branch()
        self.criterion = ContrastiveLoss()

    def forward(self, face1, face2, label):
        return self.criterion(self.branch(face1), self.branch(face2), label)


def build():
    return TwoFaces()


def example_inputs():
    faces = torch.rand(2, 8, 1, 48, 48)
    return faces[0], faces[1], torch.randint(0, 2, (8, 1)).float()
