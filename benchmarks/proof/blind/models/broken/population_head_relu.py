"""Estimates of population per pixel that must not be negative.

Source: https://github.com/jvargasmu/population_estimation/issues/68
Fault: the final ReLU starts with negative inputs: it predicts zeros only and passes no gradient.
Cause: relu|dead|dying|negative|clip
Place: output_layer|relu|head
"""

import torch
import torch.nn.functional as F
from torch import nn


class PopulationNet(nn.Module):
    def __init__(self, in_channels=5, feature_dim=16):
        super().__init__()
        self.embed = nn.Sequential(
            nn.Conv2d(in_channels, feature_dim, 1),
            nn.ReLU(),
            nn.Conv2d(feature_dim, feature_dim, 1),
            nn.ReLU(),
        )
        self.output_layer = nn.Conv2d(feature_dim, 1, 1)
        nn.init.normal_(self.output_layer.weight, std=0.01)
        nn.init.constant_(self.output_layer.bias, -0.5)

    def forward(self, covariates):
        occupancy = F.relu(self.output_layer(self.embed(covariates)))  # here
        return occupancy.sum((1, 2, 3))


def example_inputs():
    return (torch.rand(4, 5, 8, 8),)
