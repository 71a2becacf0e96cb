r"""Classifier that first straightens its image by a learned affine transformation.

Source: https://pytorch.org/tutorials/intermediate/spatial_transformer_tutorial.html
Odd: The last layer of the localisation has zero weights and the identity as bias, so that images
    are unchanged at the start.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.localization = nn.Sequential(
            nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(6, 8, 3), nn.ReLU()
        )
        self.fc_loc = nn.Sequential(nn.Linear(8 * 6 * 6, 16), nn.ReLU(), nn.Linear(16, 6))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3), nn.ReLU()
        )
        self.fc = nn.Linear(12 * 7 * 7, 10)

    def forward(self, x):
        theta = self.fc_loc(self.localization(x).flatten(1)).view(-1, 2, 3)
        x = F.grid_sample(x, F.affine_grid(theta, x.size(), False), align_corners=False)
        return F.log_softmax(self.fc(self.features(x).flatten(1)), dim=1)


def build():
    return Net()


def example_inputs():
    return torch.rand(6, 1, 20, 20)
